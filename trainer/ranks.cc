#include "trainer/ranks.h"

#include "base/hash.h"
#include "trainer/collective/connect.h"
#include "trainer/collective/rank_order.h"
#include "trainer/model/activations.h"

namespace gyre {

Ranks::Share Ranks::ShareOf(int64_t count) const {
  if (alone()) return {0, count};
  const int rank = communicator_->rank(), ranks = communicator_->size();
  return {ShareBegin(count, rank, ranks), ShareBegin(count, rank + 1, ranks)};
}

Status Ranks::Sum(std::span<double> values) const {
  return alone() ? OkStatus() : ToStatus(communicator_->Sum(values));
}

Status Ranks::SumGradients(Model* model) const {
  return alone() ? OkStatus() : model->SumGradients(*communicator_);
}

void Ranks::Leave(const Status& why) const {
  if (!alone()) communicator_->Leave(why.ToString());
}

// Ranks that compute differently would soon have different weights.
Result<std::unique_ptr<Communicator>> MeetRanks(const TrainerJob& job, const TrainOptions& options,
                                                RankOptions place) {
  if (place.world == 1) return std::unique_ptr<Communicator>();
  place.purpose = "job " + Sha256Hex(ToJson(job).dump()).substr(0, 16) + " from " +
                  (options.resume_from.empty() ? "the start" : options.resume_from) + " on " +
                  Fingerprint(options.backend, options.threads).dump();
  return ConnectRanks(place, options.backend);
}

}  // namespace gyre
