#include "trainer/evaluation.h"

#include <algorithm>

namespace gyre {
namespace {

void AddTo(std::vector<LossSum>* buckets, const std::vector<int>& edges, int64_t place,
           double nats) {
  if (edges.empty()) return;
  const auto after = std::upper_bound(edges.begin(), edges.end(), place);
  LossSum& bucket = (*buckets)[static_cast<size_t>(after - edges.begin()) - 1];
  bucket.nats += nats;
  ++bucket.targets;
}

LossSum* GroupOf(const Windows& windows, int64_t document, LossBuckets* buckets) {
  if (buckets->groups.empty()) return nullptr;
  const auto groups = static_cast<int64_t>(buckets->groups.size());
  return &buckets->groups[static_cast<size_t>(document * groups / windows.documents())];
}

Status SumOverRanks(const Ranks& ranks, LossSum* whole, LossBuckets* buckets) {
  std::vector<LossSum*> sums = {whole};
  if (buckets != nullptr) {
    for (LossSum& bucket : buckets->by_position) sums.push_back(&bucket);
    for (LossSum& bucket : buckets->by_document) sums.push_back(&bucket);
    for (LossSum& group : buckets->groups) sums.push_back(&group);
  }
  std::vector<double> values;
  for (const LossSum* sum : sums) {
    values.push_back(sum->nats);
    values.push_back(static_cast<double>(sum->targets));
  }
  GYRE_RETURN_IF_ERROR(ranks.Sum(values));
  for (size_t i = 0; i < sums.size(); ++i) {
    *sums[i] = {values[2 * i], static_cast<int64_t>(values[2 * i + 1])};
  }
  return OkStatus();
}

}  // namespace

Result<LossSum> EvaluateLoss(const Windows& windows, int64_t sample, int rows, Model* model,
                             LossBuckets* buckets, const Ranks& ranks) {
  const Ranks::Share share = ranks.ShareOf(sample);
  LossSum sum;
  Batch batch;
  std::vector<float> nll;
  for (int64_t first = share.begin; first < share.end; first += rows) {
    const int now = static_cast<int>(std::min<int64_t>(rows, share.end - first));
    GYRE_RETURN_IF_ERROR(windows.Fill(sample, first, now, &batch));
    nll.resize(batch.targets.size());
    GYRE_RETURN_IF_ERROR(model->Evaluate(batch, nll));
    const auto length = static_cast<size_t>(batch.length);
    int64_t document = 0;
    LossSum* group = nullptr;
    for (size_t i = 0; i < nll.size(); ++i) {
      const size_t place = i % length;
      if (buckets != nullptr && place == 0) {
        const int64_t window = first + static_cast<int64_t>(i / length);
        document = windows.DocumentLength(sample, window);
        group = GroupOf(windows, windows.DocumentOf(sample, window), buckets);
      }
      if (batch.targets[i] < 0) continue;
      sum.nats += nll[i];
      ++sum.targets;
      if (buckets == nullptr) continue;
      AddTo(&buckets->by_position, buckets->position_edges, static_cast<int64_t>(place), nll[i]);
      AddTo(&buckets->by_document, buckets->document_edges, document, nll[i]);
      if (group != nullptr) *group = {group->nats + nll[i], group->targets + 1};
    }
  }
  GYRE_RETURN_IF_ERROR(SumOverRanks(ranks, &sum, buckets));
  return sum;
}

}  // namespace gyre
