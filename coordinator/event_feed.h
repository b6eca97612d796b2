#pragma once

// Events for watchers: each sees every event after the one it names, in order, then new ones as
// they are committed, with progress mixed in. Events are read from the database, never queued, so a
// slow watcher costs nothing but its own delay; progress is dropped where a watcher is busy, since
// a newer one follows.
//
// Threads: one of its own reads and hands out. Add and Remove may be called from any thread; a sink
// is called from the feed's thread alone.

#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "coordinator/coordinator.h"
#include "coordinator/store/event_reader.h"

namespace gyre {

/// Where one watcher's events go. Calls must not wait.
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// The next ones. Nothing more comes until EventFeed::Ready() is called for it.
  virtual void Deliver(const std::vector<EventRow>& events,
                       const std::vector<RunningJobReply>& progress) = 0;
  /// No more will come; the last call.
  virtual void End(const Status& status) = 0;
};

class EventFeed : public CommitListener {
 public:
  explicit EventFeed(EventReader reader);
  /// Stops.
  ~EventFeed() override;

  /// From the first event with id > `after_id`; -1 = only new ones. `sink` lives until Remove has
  /// returned. After Stop, End is called at once.
  void Add(EventSink* sink, int64_t after_id, std::optional<int64_t> sweep_id);
  void Ready(EventSink* sink);
  /// No call to the sink is running or will come once it returns. Not from inside a sink's call.
  void Remove(EventSink* sink);
  /// Ends all watchers, closes the database. Idempotent.
  void Stop();

  void OnCommitted(int64_t last_event_id) override;
  void OnProgress(const RunningJobReply& job) override;

 private:
  struct Watcher {
    int64_t after_id = 0;
    std::optional<int64_t> sweep_id;
    bool ready = true;
    std::map<int64_t, RunningJobReply> progress;  // the newest of each job
  };
  using Watchers = std::map<EventSink*, Watcher>;

  bool HasWork(const Watcher& watcher) const GYRE_REQUIRES(mutex_);
  void Run();
  Watchers::iterator NextWithWork() GYRE_REQUIRES(mutex_);
  /// Lets go of the mutex meanwhile.
  void Serve(EventSink* sink) GYRE_REQUIRES(mutex_);

  // Its thread's, until Stop closes it: a read-only connection that closes last leaves the
  // write-ahead log behind.
  std::optional<EventReader> reader_;
  Mutex mutex_;
  Condition changed_;
  Watchers watchers_ GYRE_GUARDED_BY(mutex_);
  int64_t last_event_id_ GYRE_GUARDED_BY(mutex_) = 0;
  EventSink* calling_ GYRE_GUARDED_BY(mutex_) = nullptr;      // whose call is running
  EventSink* last_served_ GYRE_GUARDED_BY(mutex_) = nullptr;  // only compared
  bool stopping_ GYRE_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gyre
