#pragma once

// The ranks of a job as the training loop sees them: what each does of what there is to do, and
// what they agree about. A job on one device is alone and agrees with itself.
//
// Of the rows of a batch, and of the windows of an evaluation, in their order, rank 0 has the first
// share, rank 1 the next, and so on; shares differ by one at most, and there may be none for a
// rank. Losses and counts of targets are summed over ranks before anybody divides, so that every
// target counts alike however the rows were shared out; what is decided is decided from such sums,
// and so by all alike. Rank 0 alone says points and writes checkpoints.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "trainer/collective/communicator.h"
#include "trainer/collective/rendezvous.h"
#include "trainer/config/job_config.h"
#include "trainer/model/model.h"
#include "trainer/trainer.h"

namespace gyre {

class Ranks {
 public:
  Ranks() = default;  // alone
  /// Null: alone. Outlives this.
  explicit Ranks(Communicator* communicator) : communicator_(communicator) {}

  int count() const { return communicator_ == nullptr ? 1 : communicator_->size(); }
  bool alone() const { return count() == 1; }
  /// Whether this is the rank that says and writes.
  bool speaks() const { return communicator_ == nullptr || communicator_->rank() == 0; }

  struct Share {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  Share ShareOf(int64_t count) const;

  /// UNAVAILABLE: another rank is gone; says which.
  Status Sum(std::span<double> values) const;
  Status SumGradients(Model* model) const;
  /// See Communicator::Leave.
  void Leave(const Status& why) const;

 private:
  Communicator* communicator_ = nullptr;
};

/// Meets the other ranks of the job, which begin from the same checkpoint and compute alike; null
/// where there is one rank. Waits for them, and fails, as ConnectRanks does; `place.purpose` is not
/// the caller's.
Result<std::unique_ptr<Communicator>> MeetRanks(const TrainerJob& job, const TrainOptions& options,
                                                RankOptions place);

}  // namespace gyre
