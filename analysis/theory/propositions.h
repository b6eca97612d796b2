#pragma once

// Propositions 3.1, 3.2 and 5.2 of Barbero et al. (arXiv 2410.06205), each as numbers that show
// whether it holds. Pure; any thread.

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/position/rotation.h"

namespace gyre {

/// Proposition 3.1: for q = psi and k = R^r psi (pair by pair, k = rho(f)^r psi) the logit at
/// distance m is sum_k |psi_k|^2 cos((m - r) f_k), which is largest at m = r and, where anything
/// rotates by a frequency that is no multiple of 2 pi, only there (Lemma A.1).
struct MaximumAtDistance {
  int argmax = 0;      // of the logits at distances 0..last; the smallest of several
  double largest = 0;  // the logit there
  int runner_up = 0;   // the distance, other than r, with the largest logit
  /// By how much the logit there is below the one at r; exact where the difference of the two
  /// rounds to nothing: sum_k |psi_k|^2 (1 - cos(m f)), as 2 sin^2(m f / 2).
  double margin = 0;
};

/// The logits at distances 0..last, from rotated vectors.
std::vector<double> LogitsOfChosenDistance(const Rotation& rotation, std::span<const double> psi,
                                           int r, int last);

/// last >= 1, 0 <= r <= last. The proposition holds if argmax = r and margin > 0.
MaximumAtDistance FindMaximum(const Rotation& rotation, std::span<const double> psi, int r,
                              int last);

/// Proposition 3.2: q and k standard normal and independent have E[q^T R^m k] = 0 at every
/// distance. The variance is sum_k 2 A_k^4, so d where no attention factor applies.
struct GaussianLogits {
  int distance = 0;
  double mean = 0, standard_error = 0;  // of the mean
  double std = 0, expected_std = 0;
};

/// Over `draws` (at least 2) pairs, the same ones at every distance.
std::vector<GaussianLogits> SampleGaussianLogits(const Rotation& rotation,
                                                 std::span<const int> distances, int draws,
                                                 uint64_t seed);

/// Proposition 5.2: in the sequence [BOS, x, x], a head without positions gives both x the same
/// weight, so neither more than 1/2. What the last token gives to itself, to the one before, and to
/// BOS; logits divided by sqrt(d).
struct RepeatedTokenAttention {
  double itself = 0, previous = 0, first = 0;
};

RepeatedTokenAttention AttendRepeatedToken(const Rotation& rotation, std::span<const double> query,
                                           std::span<const double> key,
                                           std::span<const double> first_key);

}  // namespace gyre
