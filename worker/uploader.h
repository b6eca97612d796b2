#pragma once

// Carries what one attempt has to say to the coordinator, in order: points in numbered batches,
// checkpoints, the outcome. One thing is on its way at a time and is sent again until it is
// answered, through any absence of the coordinator. Memory is bounded: when it is full, AddPoint
// waits, the trainer's pipe fills, and training waits with it.
//
// It ends early when the coordinator says FAILED_PRECONDITION ("not yours any more": everything
// unsent is dropped) or refuses a message for good (our bug: the attempt fails with that error), or
// by Drop(); `on_ended` is called then.
//
// Threads: AddPoint, AddCheckpoint and Finish from one, Drop from any; on_ended and on_answer come
// from its own.

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <variant>

#include "worker/backoff.h"
#include "worker/coordinator_client.h"

namespace gyre {

struct UploaderOptions {
  size_t batch_points = 1000;
  Millis batch_wait{200};  // a point waits at most this long for others
  size_t max_waiting = 20000;
  std::function<void()> on_ended;         // early, see above
  std::function<void()> on_unregistered;  // NOT_FOUND; the call is then tried again
  std::function<void(const std::vector<std::string>&)> on_obsolete;  // hashes of objects to delete
};

class Uploader {
 public:
  Uploader(AttemptId attempt, CoordinatorClient& client, UploaderOptions options);
  /// Drops what has not been sent.
  ~Uploader();

  /// The trainer's, goes with the first batch.
  void SetFingerprint(std::string fingerprint);

  /// False once it has ended early.
  bool AddPoint(Point point);
  bool AddCheckpoint(Checkpoint checkpoint);

  /// Sends what is left, then the outcome, and waits for the answer: OK when it is acknowledged.
  /// FAILED_PRECONDITION: not ours any more. CANCELLED: dropped. After a refusal the outcome goes
  /// out as FAILED with the refusal's words.
  Status Finish(AttemptEnd end);

  void Drop();

 private:
  using Item = std::variant<Point, Checkpoint, AttemptEnd>;

  void Run();
  bool WaitForWork(std::unique_lock<std::mutex>& lock);
  size_t PointsInFront() const;
  Status SendPoints(std::vector<Point> points);
  Status SendItem(const Item& item);
  Status SendUntilAnswered(const std::function<Status()>& send);
  bool Add(Item item);
  void EndEarly(Status why);

  const AttemptId attempt_;
  CoordinatorClient& client_;
  const UploaderOptions options_;
  Backoff backoff_;
  int64_t sequence_ = 0;  // of the last batch that is acknowledged; its own thread's
  std::stop_source stop_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Item> waiting_;  // guarded by mutex_, as all below
  std::string fingerprint_;
  bool finished_ = false;  // the outcome is acknowledged
  Status ended_;           // why it ended early; OK = it has not
  std::jthread thread_;    // last: it uses all of the above
};

}  // namespace gyre
