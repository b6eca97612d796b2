#pragma once

// The logit of one query and one key as a function of their distance, in float64: what all of the
// paper's synthetic experiments (Barbero et al., arXiv 2410.06205) are made of. Pure; any thread.
//
// A query at position i and a key at position j have, with m = i - j,
//   q^T R^(j-i) k = sum_k A_k^2 (q_a k_a + q_b k_b) cos(m f_k) + A_k^2 (q_a k_b - q_b k_a) sin(m
//   f_k)
// over the pairs (a, b) of a head (section 2 there, equation 3); nothing here is divided by
// sqrt(d).

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "trainer/position/rotation.h"

namespace gyre {

/// The rotation of one head; `length` matters to dynamic scaling alone. INVALID_ARGUMENT as
/// ResolvePositions() has it.
Result<Rotation> RotationOfHead(const EncodingConfig& encoding, int head_dim, int length);

/// q^T R^(-m) k as a function of m.
class PairLogit {
 public:
  /// `query` and `key` have 2 * (number of pairs) coordinates.
  PairLogit(const Rotation& rotation, std::span<const double> query, std::span<const double> key);

  /// `distance` is that of the positions; it need not be whole.
  double At(double distance) const;

 private:
  std::vector<double> frequencies_, along_, across_;  // (d/2)
};

/// R^t x without the attention factor: `x` turned as by t tokens.
std::vector<double> Turned(const Rotation& rotation, std::span<const double> x, double t);

/// `count` independent standard normals: numbers first, first + 1, ... of `step`.
std::vector<double> Normals(const Random& random, uint64_t step, uint64_t first, int count);

/// Full turns of a pair within so many tokens: length f / (2 pi).
double Turns(double frequency, double length);

/// p*(L, theta) = ln(L / 2 pi) / ln(theta): the share of the pairs of a ladder that complete a turn
/// within L tokens. theta > 1, L > 0; below 0 or above 1 where none or all do.
double PStar(double length, double theta);

}  // namespace gyre
