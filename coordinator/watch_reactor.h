#pragma once

// One open WatchEvents stream: between the feed's thread, which delivers, and gRPC's, which write
// and cancel. One write at a time; the stream is finished exactly once, by whoever comes to an idle
// stream with a reason to end it.

#include <optional>
#include <vector>

#include "base/mutex.h"
#include "coordinator/event_feed.h"
#include "gyre/v1/sweep_service.grpc.pb.h"

namespace gyre {

class WatchReactor final : public grpc::ServerWriteReactor<v1::Event>, public EventSink {
 public:
  /// Deletes itself when gRPC is done with it. Until Begin or End is called it stays open, even if
  /// the client has gone.
  explicit WatchReactor(EventFeed& feed) : feed_(feed) {}

  void Begin(int64_t after_id, std::optional<int64_t> sweep_id);

  void Deliver(const std::vector<EventRow>& events,
               const std::vector<RunningJobReply>& progress) override;
  void End(const Status& status) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  enum class Phase { kStarting, kIdle, kWriting, kFinished };
  void EndWith(const grpc::Status& status, bool may_start);

  EventFeed& feed_;
  Mutex mutex_;  // never held in a call to gRPC or the feed
  Phase phase_ GYRE_GUARDED_BY(mutex_) = Phase::kStarting;
  // A reason to finish as soon as nothing is being written.
  std::optional<grpc::Status> ending_ GYRE_GUARDED_BY(mutex_);
  std::vector<v1::Event> buffer_ GYRE_GUARDED_BY(mutex_);
  size_t written_ GYRE_GUARDED_BY(mutex_) = 0;
};

}  // namespace gyre
