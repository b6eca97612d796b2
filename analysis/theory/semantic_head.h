#pragma once

// Theorem 6.1 of Barbero et al. (arXiv 2410.06205): a head that finds its target by content through
// pairs that rotate loses it once the sequence is long enough. The proof moves two tokens: the
// target to where rotation has turned its logit down, and one other token, the distractor, to where
// rotation turns its own up; by Lemma A.3 attention to the target is then at most 1/2. Here is
// where that first succeeds. Pure; any thread.
//
// With shares w_k of |q| |k_target| over the pairs, a distractor whose key is `distractor_norm`
// times as long and turned by angle_k against the query, and distances m from the query,
//   target(m)     = sum_k w_k cos(m f_k)
//   distractor(m) = distractor_norm sum_k w_k cos(angle_k - m f_k)
// are the logits as shares of the target's without rotation.

#include <optional>
#include <vector>

#include "base/status.h"

namespace gyre {

struct SemanticHead {
  std::vector<double> frequencies;  // of the pairs that carry content; 0 = not rotated
  std::vector<double> shares;       // as many; their sum is 1
  std::vector<double> angles;       // as many
  double distractor_norm = 0.5;
};

/// `frequencies` with even shares, the distractor at `angle` in each.
SemanticHead EvenSemanticHead(std::vector<double> frequencies, double distractor_norm,
                              double angle);

/// INVALID_ARGUMENT: the head cannot tell target from distractor even where nothing is rotated, so
/// that there is nothing to lose.
Status CheckTellsApart(const SemanticHead& head);

/// By distance 0..N-1 from the query.
struct SemanticLogits {
  std::vector<double> target, distractor;
};

SemanticLogits LogitsByDistance(const SemanticHead& head, int length);

/// Where two tokens stand, as distances from the query, and the sequence that holds both.
struct SemanticLoss {
  int target_at = 0, distractor_at = 0;
  double target = 0, distractor = 0;  // their logits
};

struct SemanticFailure {
  /// The nearest target that is lost, with the distractor where it does best among all N places.
  std::optional<SemanticLoss> nearest;
  /// The loss in the shortest sequence that has one: 1 + the larger of both distances tokens.
  std::optional<SemanticLoss> shortest;
  /// The first distance at which the target's logit is no longer above 0: from here on, a
  /// distractor however weak is enough, wherever its own is positive.
  std::optional<int> not_positive_at;
};

/// Absent: nowhere within these distances. A head that rotates nothing never fails.
SemanticFailure FindFailure(const SemanticLogits& logits);

/// What the adversary leaves of a target at each distance.
struct SemanticMargin {
  double target = 0;
  double distractor = 0;  // the largest in all other places
  int distractor_at = 0;
};

/// Of at least two distances.
std::vector<SemanticMargin> MarginsByDistance(const SemanticLogits& logits);

/// Of a head with evenly shared pairs: each pair on its own, and together with all after it (which
/// in a ladder are the slower ones).
struct PairFailure {
  SemanticFailure alone, with_later;
};

std::vector<PairFailure> FailuresByPair(const SemanticHead& head, int length);

}  // namespace gyre
