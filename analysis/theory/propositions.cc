#include "analysis/theory/propositions.h"

#include <algorithm>
#include <cmath>

#include "analysis/theory/logits.h"

namespace gyre {
namespace {

double Factor(const Rotation& rotation, size_t k) {
  return rotation.scaled[k] ? rotation.attention_factor * rotation.attention_factor : 1;
}

/// A^2 |psi_k|^2.
std::vector<double> Weights(const Rotation& rotation, std::span<const double> psi) {
  std::vector<double> weights;
  for (size_t k = 0; k < rotation.pairs.size(); ++k) {
    const double a = psi[static_cast<size_t>(rotation.pairs[k].first)];
    const double b = psi[static_cast<size_t>(rotation.pairs[k].second)];
    weights.push_back(Factor(rotation, k) * (a * a + b * b));
  }
  return weights;
}

}  // namespace

std::vector<double> LogitsOfChosenDistance(const Rotation& rotation, std::span<const double> psi,
                                           int r, int last) {
  const PairLogit logit(rotation, psi, Turned(rotation, psi, r));
  std::vector<double> logits;
  for (int m = 0; m <= last; ++m) logits.push_back(logit.At(m));
  return logits;
}

MaximumAtDistance FindMaximum(const Rotation& rotation, std::span<const double> psi, int r,
                              int last) {
  const std::vector<double> logits = LogitsOfChosenDistance(rotation, psi, r, last);
  const auto largest = std::max_element(logits.begin(), logits.end());
  MaximumAtDistance found{static_cast<int>(largest - logits.begin()), *largest, 0, INFINITY};
  const std::vector<double> weights = Weights(rotation, psi);
  for (int m = 0; m <= last; ++m) {
    if (m == r) continue;
    double margin = 0;
    for (size_t k = 0; k < weights.size(); ++k) {
      const double sine = std::sin((m - r) * rotation.frequencies[k] / 2);
      margin += weights[k] * 2 * sine * sine;
    }
    if (margin < found.margin) found.runner_up = m, found.margin = margin;
  }
  return found;
}

std::vector<GaussianLogits> SampleGaussianLogits(const Rotation& rotation,
                                                 std::span<const int> distances, int draws,
                                                 uint64_t seed) {
  const int dim = 2 * static_cast<int>(rotation.pairs.size());
  double variance = 0;
  for (size_t k = 0; k < rotation.pairs.size(); ++k) {
    variance += 2 * Factor(rotation, k) * Factor(rotation, k);
  }
  std::vector<GaussianLogits> sampled;
  for (const int distance : distances) {
    sampled.push_back({distance, 0, 0, 0, std::sqrt(variance)});
  }
  const Random random(seed, "theory/gaussian-logits");
  // Welford: `std` holds the sums of squares until the end.
  for (int draw = 0; draw < draws; ++draw) {
    const auto step = static_cast<uint64_t>(draw);
    const PairLogit logit(rotation, Normals(random, step, 0, dim),
                          Normals(random, step, static_cast<uint64_t>(dim), dim));
    for (GaussianLogits& at : sampled) {
      const double value = logit.At(at.distance), difference = value - at.mean;
      at.mean += difference / (draw + 1);
      at.std += difference * (value - at.mean);
    }
  }
  for (GaussianLogits& at : sampled) {
    at.std = std::sqrt(at.std / (draws - 1));
    at.standard_error = at.std / std::sqrt(draws);
  }
  return sampled;
}

RepeatedTokenAttention AttendRepeatedToken(const Rotation& rotation, std::span<const double> query,
                                           std::span<const double> key,
                                           std::span<const double> first_key) {
  const double unit = std::sqrt(2.0 * static_cast<double>(rotation.pairs.size()));
  const PairLogit repeated(rotation, query, key);
  const double itself = repeated.At(0) / unit, previous = repeated.At(1) / unit;
  const double first = PairLogit(rotation, query, first_key).At(2) / unit;
  const double largest = std::max({itself, previous, first});
  RepeatedTokenAttention weights{std::exp(itself - largest), std::exp(previous - largest),
                                 std::exp(first - largest)};
  const double sum = weights.itself + weights.previous + weights.first;
  return {weights.itself / sum, weights.previous / sum, weights.first / sum};
}

}  // namespace gyre
