#include "analysis/theory/logits.h"

#include <cmath>
#include <numbers>

namespace gyre {

Result<Rotation> RotationOfHead(const EncodingConfig& encoding, int head_dim, int length) {
  PositionConfig position;
  position.common = encoding;
  ModelConfig model;
  model.num_hidden_layers = 1;
  model.num_attention_heads = 1;
  model.head_dim = head_dim;
  GYRE_ASSIGN_OR_RETURN(auto layers, ResolvePositions(position, model, length));
  return std::move(layers.front().rotation);
}

PairLogit::PairLogit(const Rotation& rotation, std::span<const double> query,
                     std::span<const double> key)
    : frequencies_(rotation.frequencies) {
  for (size_t k = 0; k < frequencies_.size(); ++k) {
    const auto [first, second] = rotation.pairs[k];
    const auto a = static_cast<size_t>(first), b = static_cast<size_t>(second);
    const double factor = rotation.scaled[k] ? rotation.attention_factor : 1;
    along_.push_back(factor * factor * (query[a] * key[a] + query[b] * key[b]));
    across_.push_back(factor * factor * (query[a] * key[b] - query[b] * key[a]));
  }
}

double PairLogit::At(double distance) const {
  double sum = 0;
  for (size_t k = 0; k < frequencies_.size(); ++k) {
    const double angle = distance * frequencies_[k];
    sum += along_[k] * std::cos(angle) + across_[k] * std::sin(angle);
  }
  return sum;
}

std::vector<double> Turned(const Rotation& rotation, std::span<const double> x, double t) {
  std::vector<double> turned(x.begin(), x.end());
  for (size_t k = 0; k < rotation.pairs.size(); ++k) {
    const auto [first, second] = rotation.pairs[k];
    const auto a = static_cast<size_t>(first), b = static_cast<size_t>(second);
    const double cosine = std::cos(t * rotation.frequencies[k]);
    const double sine = std::sin(t * rotation.frequencies[k]);
    turned[a] = x[a] * cosine - x[b] * sine;
    turned[b] = x[b] * cosine + x[a] * sine;
  }
  return turned;
}

std::vector<double> Normals(const Random& random, uint64_t step, uint64_t first, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(random.Normal(step, first + static_cast<uint64_t>(i)));
  }
  return values;
}

double Turns(double frequency, double length) {
  return length * frequency / (2 * std::numbers::pi);
}

double PStar(double length, double theta) {
  return std::log(length / (2 * std::numbers::pi)) / std::log(theta);
}

}  // namespace gyre
