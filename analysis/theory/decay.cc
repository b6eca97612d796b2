#include "analysis/theory/decay.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <string>

#include "analysis/theory/logits.h"
#include "base/random.h"

namespace gyre {
namespace {

Status Check(const DecaySpec& spec) {
  if (spec.draws < 1) return InvalidArgument("a curve needs at least one draw");
  if (spec.last_distance < 0) return InvalidArgument("distances begin at 0");
  if (spec.randomized < 0 || (spec.randomized > 0 && spec.randomized <= spec.last_distance)) {
    return InvalidArgument("distances up to " + std::to_string(spec.last_distance) + " take " +
                           std::to_string(int64_t{spec.last_distance} + 1) +
                           " different positions, and there are " +
                           std::to_string(spec.randomized) + " to sample from");
  }
  return OkStatus();
}

/// How far the query's position is from that of the token so many before it.
std::vector<double> Offsets(const DecaySpec& spec, int draw) {
  const auto tokens = static_cast<size_t>(spec.last_distance) + 1;
  std::vector<double> offsets(tokens);
  if (spec.randomized == 0) {
    for (size_t m = 0; m < tokens; ++m) offsets[m] = static_cast<double>(m);
    return offsets;
  }
  const Random random(spec.seed, "theory/decay/positions");
  std::vector<uint64_t> positions(tokens);
  for (size_t n = 0; n < tokens; ++n) {
    positions[n] = PermutedIndex(random, static_cast<uint64_t>(draw),
                                 static_cast<uint64_t>(spec.randomized), n);
  }
  std::sort(positions.begin(), positions.end());
  for (size_t m = 0; m < tokens; ++m) {
    offsets[m] = static_cast<double>(positions.back() - positions[tokens - 1 - m]);
  }
  return offsets;
}

/// The pair of vectors that stands `number`-th in a draw.
PairLogit LogitOf(const DecaySpec& spec, int draw, uint64_t number) {
  const int dim = 2 * static_cast<int>(spec.rotation.frequencies.size());
  if (spec.vectors == DecayVectors::kConstant) {
    const std::vector<double> ones(static_cast<size_t>(dim), 1.0);
    return PairLogit(spec.rotation, ones, ones);
  }
  const Random random(spec.seed, "theory/decay/vectors");
  const auto step = static_cast<uint64_t>(draw);
  const uint64_t first = number * 2 * static_cast<uint64_t>(dim);
  return PairLogit(spec.rotation, Normals(random, step, first, dim),
                   Normals(random, step, first + static_cast<uint64_t>(dim), dim));
}

double Divisor(const DecaySpec& spec, double at_origin) {
  const auto dim = static_cast<double>(2 * spec.rotation.frequencies.size());
  switch (spec.unit) {
    case DecayUnit::kDim:
      return dim;
    case DecayUnit::kSqrtDim:
      return std::sqrt(dim);
    case DecayUnit::kOrigin:
      return std::abs(at_origin);
    case DecayUnit::kNone:
      break;
  }
  return 1;
}

std::vector<double> OneDraw(const DecaySpec& spec, int draw) {
  const std::vector<double> offsets = Offsets(spec, draw);
  std::vector<double> curve(offsets.size());
  if (spec.vectors == DecayVectors::kFreshPair) {
    for (size_t m = 0; m < curve.size(); ++m) curve[m] = LogitOf(spec, draw, m).At(offsets[m]);
  } else {
    const PairLogit logit = LogitOf(spec, draw, 0);
    for (size_t m = 0; m < curve.size(); ++m) curve[m] = logit.At(offsets[m]);
  }
  const double divisor = Divisor(spec, curve.front());
  for (double& value : curve) value /= divisor;
  return curve;
}

}  // namespace

Result<DecayCurve> ComputeDecay(const DecaySpec& spec) {
  GYRE_RETURN_IF_ERROR(Check(spec));
  const auto count = static_cast<size_t>(spec.last_distance) + 1;
  DecayCurve curve{std::vector<double>(count), std::vector<double>(count)};
  // Welford: `std` holds the sums of squares until the end.
  for (int draw = 0; draw < spec.draws; ++draw) {
    const std::vector<double> values = OneDraw(spec, draw);
    for (size_t m = 0; m < count; ++m) {
      const double difference = values[m] - curve.mean[m];
      curve.mean[m] += difference / (draw + 1);
      curve.std[m] += difference * (values[m] - curve.mean[m]);
    }
  }
  for (double& std : curve.std) std = spec.draws > 1 ? std::sqrt(std / (spec.draws - 1)) : 0;
  return curve;
}

std::vector<double> RoformerBound(const std::vector<double>& frequencies, int last_distance) {
  std::vector<double> bound;
  for (int m = 0; m <= last_distance; ++m) {
    std::complex<double> partial = 0;
    double sum = 0;
    for (const double frequency : frequencies) {
      partial += std::polar(1.0, m * frequency);
      sum += std::abs(partial);
    }
    bound.push_back(sum / static_cast<double>(frequencies.size()));
  }
  return bound;
}

}  // namespace gyre
