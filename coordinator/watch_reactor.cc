#include "coordinator/watch_reactor.h"

#include <utility>

#include "coordinator/convert.h"
#include "proto/grpc_status.h"

namespace gyre {

void WatchReactor::Begin(int64_t after_id, std::optional<int64_t> sweep_id) {
  MutexLock lock(mutex_);
  if (ending_) {
    phase_ = Phase::kFinished;
    const grpc::Status status = *ending_;
    lock.Unlock();
    Finish(status);
    return;
  }
  phase_ = Phase::kIdle;
  lock.Unlock();
  feed_.Add(this, after_id, sweep_id);
}

void WatchReactor::Deliver(const std::vector<EventRow>& events,
                           const std::vector<RunningJobReply>& progress) {
  MutexLock lock(mutex_);
  if (phase_ != Phase::kIdle) return;
  buffer_.clear();
  written_ = 0;
  for (const EventRow& row : events) ToProto(row, &buffer_.emplace_back());
  for (const RunningJobReply& job : progress) {
    v1::Event& event = buffer_.emplace_back();
    event.set_kind("progress");
    event.set_sweep_id(job.sweep_id);
    event.set_job_id(job.job_id);
    event.set_attempt(job.attempt);
    event.set_worker(job.worker);
    ToProto(job, event.mutable_progress());
  }
  phase_ = Phase::kWriting;
  const v1::Event* first = &buffer_.front();
  lock.Unlock();
  StartWrite(first);
}

void WatchReactor::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  if (!ok && !ending_) ending_ = grpc::Status::CANCELLED;
  if (ending_) {
    phase_ = Phase::kFinished;
    const grpc::Status status = *ending_;
    lock.Unlock();
    Finish(status);
    return;
  }
  if (++written_ < buffer_.size()) {
    const v1::Event* next = &buffer_[written_];
    lock.Unlock();
    StartWrite(next);
    return;
  }
  phase_ = Phase::kIdle;
  lock.Unlock();
  feed_.Ready(this);
}

void WatchReactor::End(const Status& status) { EndWith(ToGrpcStatus(status), /*may_start=*/true); }

// A stream that has not begun is finished by Begin, which is still to come.
void WatchReactor::OnCancel() { EndWith(grpc::Status::CANCELLED, /*may_start=*/false); }

void WatchReactor::EndWith(const grpc::Status& status, bool may_start) {
  MutexLock lock(mutex_);
  if (phase_ == Phase::kFinished) return;
  if (phase_ == Phase::kWriting || (phase_ == Phase::kStarting && !may_start)) {
    if (!ending_) ending_ = status;
    return;
  }
  phase_ = Phase::kFinished;
  lock.Unlock();
  Finish(status);
}

void WatchReactor::OnDone() {
  feed_.Remove(this);
  delete this;
}

}  // namespace gyre
