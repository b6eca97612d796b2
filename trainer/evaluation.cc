#include "trainer/evaluation.h"

#include <algorithm>

namespace gyre {

Result<LossSum> EvaluateLoss(const Windows& windows, int64_t sample, int rows, Model* model) {
  LossSum sum;
  Batch batch;
  std::vector<float> nll;
  for (int64_t first = 0; first < sample; first += rows) {
    const int now = static_cast<int>(std::min<int64_t>(rows, sample - first));
    GYRE_RETURN_IF_ERROR(windows.Fill(sample, first, now, &batch));
    nll.resize(batch.targets.size());
    GYRE_RETURN_IF_ERROR(model->Evaluate(batch, nll));
    for (size_t i = 0; i < nll.size(); ++i) {
      if (batch.targets[i] < 0) continue;
      sum.nats += nll[i];
      ++sum.targets;
    }
  }
  return sum;
}

}  // namespace gyre
