#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/backend/reference/linear.h"

namespace gyre::reference {

/// Without gradients (none given), or with.
template <typename T>
void LinearCrossEntropyRows(const LinearCrossEntropy& op, const LinearCrossEntropyGradients* g) {
  std::vector<double> logits(op.vocab);
  for (int64_t n = 0; n < op.tokens; ++n) {
    const T* x = Data<T>(op.x) + n * op.hidden;
    const int target = Data(op.targets)[n];
    double log_sum_exp = 0;
    Data<T>(op.nll)[n] = 0;
    if (target >= 0) {
      MultiplyRow(Data<T>(op.weight), x, op.hidden, op.vocab, logits.data());
      const double largest = *std::max_element(logits.begin(), logits.end());
      for (const double logit : logits) log_sum_exp += std::exp(logit - largest);
      log_sum_exp = largest + std::log(log_sum_exp);
      Data<T>(op.nll)[n] = static_cast<T>(log_sum_exp - logits[target]);
    }
    if (g == nullptr) continue;
    for (int v = 0; v < op.vocab; ++v) {
      logits[v] = target < 0 ? 0 : std::exp(logits[v] - log_sum_exp) - (v == target ? 1 : 0);
    }
    MultiplyRowBackward(Data<T>(op.weight), x, op.hidden, op.vocab, logits.data(),
                        Data<T>(g->dx) + n * op.hidden, Data<T>(g->d_weight));
  }
}

}  // namespace gyre::reference
