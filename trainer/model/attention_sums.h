#pragma once

// What a layer's heads did with the tokens that went through, added up: trainer/statistics/ makes
// means of it. Sums over rows, in double precision and in their order; those of several models may
// be added.

#include <cstddef>
#include <vector>

namespace gyre {

/// H = heads, K = key/value heads, P = pairs of a head. As AttentionStatistics (backend.h) has it.
struct AttentionSums {
  double first_tokens = 0, other_tokens = 0;     // first of their row, and not
  double seen_keys = 0;                          // pairs of a query and a key that it sees
  std::vector<double> first_norms, other_norms;  // (H + 2K, P): heads of q, k, v
  std::vector<double> first_contributions, other_contributions;  // (H, P): of the first key or not
  std::vector<double> scores;                                    // (H, HeadScore::kCount)

  /// Every number, in one order: so that ranks can add them up.
  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (double* value : {&first_tokens, &other_tokens, &seen_keys}) visit(*value);
    for (auto* values :
         {&first_norms, &other_norms, &first_contributions, &other_contributions, &scores}) {
      for (double& value : *values) visit(value);
    }
  }
};

/// What the first tokens of a row were in one layer.
struct AttentionTrace {
  /// (tokens, (H + 2K) d), rotated.
  std::vector<double> qkv;
  std::vector<double> log_sum_exp;  // (tokens, H)
  /// logit(i, j) = cap(scale q(i) k(j)) - slope (i - j), with cap(x) = softcap tanh(x / softcap).
  double scale = 0;    // 0: 1 / sqrt(d)
  double softcap = 0;  // 0: cap(x) = x
};

}  // namespace gyre
