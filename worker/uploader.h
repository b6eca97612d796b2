#pragma once

// Carries what one attempt has to say to the coordinator, in order: points and statistics in
// numbered batches, checkpoints, the outcome. Each is sent again until it is answered, through any
// absence of the coordinator. Memory is bounded: when it is full, AddPoint waits, the trainer's
// pipe fills, and training waits with it.
//
// A checkpoint is reported once the points before it are in, and from then on in the background:
// where its object has to be sent first, points overtake it, and it is dropped unsent when a newer
// one comes while it waits. The outcome waits for it: the last weights are with the coordinator
// before it hears of success. An object that is lost or damaged on this machine's disk costs that
// checkpoint, and the attempt if it has the last weights.
//
// It ends early when the coordinator says FAILED_PRECONDITION ("not yours any more": everything
// unsent is dropped) or refuses a message for good (our bug: the attempt fails with that error), or
// by Drop(); `on_ended` is called then.
//
// Threads: AddPoint, AddStatistics, AddCheckpoint and Finish from one, Drop from any; what it calls
// comes from two of its own.

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
  size_t batch_bytes = size_t{8} << 20;  // what is larger by itself goes by itself
  Millis batch_wait{200};                // a point waits at most this long for others
  size_t max_waiting = 20000;
  size_t max_waiting_bytes = size_t{64} << 20;  // and one more that is larger by itself
  std::function<void()> on_ended;               // early, see above
  std::function<void()> on_unregistered;        // NOT_FOUND; the call is then tried again
  std::function<void(const std::vector<std::string>&)> on_obsolete;  // hashes of objects to delete
  /// Gives the coordinator the object of that hash; absent = it sees what is written here.
  std::function<Status(const std::string&, std::stop_token)> send_object;
  std::function<void(const std::string&)> on_unsent;  // such an object will not be sent
};

class Uploader {
 public:
  Uploader(AttemptId attempt, CoordinatorClient& client, UploaderOptions options);
  /// Drops what has not been sent.
  ~Uploader();

  const AttemptId& attempt() const { return attempt_; }

  /// The trainer's, goes with the first batch.
  void SetFingerprint(std::string fingerprint);

  /// False once it has ended early.
  bool AddPoint(Point point);
  bool AddStatistics(StatisticsText statistics);
  bool AddCheckpoint(Checkpoint checkpoint);

  /// Sends what is left, then the outcome, and waits for the answer: OK when it is acknowledged.
  /// FAILED_PRECONDITION: not ours any more. CANCELLED: dropped. After a refusal the outcome goes
  /// out as FAILED with the refusal's words.
  Status Finish(AttemptEnd end);

  void Drop();

 private:
  using Item = std::variant<Point, StatisticsText, Checkpoint, AttemptEnd>;

  void Run();
  bool WaitForWork(std::unique_lock<std::mutex>& lock);
  void CarryCheckpoints();
  Status Carry(const CheckpointReport& report);
  bool AwaitCarried();
  static size_t BytesOf(const Item& item);
  size_t BatchInFront() const;
  PointBatch TakeBatch(size_t items);
  Status SendBatch(PointBatch batch);
  Status SendEnd(AttemptEnd end);
  void Unsent(const Checkpoint& checkpoint) const;
  void Obsolete(const std::vector<std::string>& hashes) const;
  Status SendUntilAnswered(const std::function<Status()>& send);
  bool Add(Item item);
  void Push(Item item);
  void EndEarly(Status why);

  const AttemptId attempt_;
  CoordinatorClient& client_;
  const UploaderOptions options_;
  int64_t sequence_ = 0;   // of the last batch that is acknowledged; its own thread's
  std::stop_source stop_;  // of every call

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Item> waiting_;  // guarded by mutex_, as all below
  size_t waiting_bytes_ = 0;
  std::deque<CheckpointReport> reports_;  // the first may be on its way
  std::string fingerprint_;
  bool finished_ = false;  // the outcome is acknowledged
  Status ended_;           // why it ended early; OK = it has not
  std::jthread carrier_;   // these two last: they use all of the above
  std::jthread thread_;
};

}  // namespace gyre
