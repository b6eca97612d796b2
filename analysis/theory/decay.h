#pragma once

// Does the logit decay with distance? Curves of Barbero et al. (arXiv 2410.06205), Figures 2, 8 and
// 9, and of RoFormer's argument that it does (Su et al., arXiv 2104.09864, section 3.4.3). Pure;
// any thread. A curve depends on its DecaySpec alone, to the bit.

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "trainer/position/rotation.h"

namespace gyre {

/// Of what a query and its keys are made.
enum class DecayVectors {
  kConstant,   // q = k = (1, ..., 1): Figure 2a
  kFreshPair,  // standard normals, a new q and k at each distance: Figure 2b
  kOnePair     // standard normals, one q and one k for all distances: Figure 9
};

/// What a logit is divided by.
enum class DecayUnit {
  kDim,      // d: the constant vectors then begin at 1 (times the square of an attention factor)
  kSqrtDim,  // sqrt(d), as in attention
  kOrigin,   // the absolute logit at distance 0 of the same draw
  kNone
};

struct DecaySpec {
  Rotation rotation;
  DecayVectors vectors = DecayVectors::kConstant;
  DecayUnit unit = DecayUnit::kDim;
  int last_distance = 5000;  // the curve has distances 0, 1, ..., last_distance
  /// Randomized positions (Ruoss et al., arXiv 2305.16843): each draw samples last_distance + 1 of
  /// 1..randomized without replacement and sorts them; token n stands at the n-th of them, the
  /// query is the last token, and distances count tokens. 0 = token n stands at n.
  int64_t randomized = 0;
  int draws = 1;  // of vectors and positions
  uint64_t seed = 0;
};

/// By distance, over the draws.
struct DecayCurve {
  std::vector<double> mean, std;  // std with n - 1; 0 for one draw
};

/// INVALID_ARGUMENT: no draws, a negative distance, more tokens than positions to sample from.
Result<DecayCurve> ComputeDecay(const DecaySpec& spec);

/// RoFormer's bound on the logit, up to its factor max_i |h_(i+1) - h_i|:
///   2/d sum_(i=1)^(d/2) |S_i(m)|,  S_i(m) = sum_(j<i) exp(i m f_j),
/// for m = 0..last_distance (its Figure 2 has it for d = 128).
std::vector<double> RoformerBound(const std::vector<double>& frequencies, int last_distance);

}  // namespace gyre
