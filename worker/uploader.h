#pragma once

// Carries what one attempt has to say to the coordinator, in order: points and statistics in
// numbered batches, checkpoints, the outcome. Each is sent again until it is answered, through any
// absence of the coordinator. When it does not answer, all of that goes to a spool on disk
// (spool.h) and from there, until everything is answered; a process that ends meanwhile leaves the
// spool, and the next one of this worker delivers it. Memory is bounded, and so is the spool: when
// both are full, AddPoint waits, the trainer's pipe fills, and training waits with it, which
// Problem() says. Between two batches it waits as long as the coordinator asks it to.
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
// Threads: AddPoint, AddStatistics, AddCheckpoint and Finish from one, Drop, Leave and Problem from
// any; what it calls comes from three of its own: one makes reports, one sends them, one sees to
// checkpoints.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <variant>

#include "base/mutex.h"
#include "worker/backoff.h"
#include "worker/coordinator_client.h"
#include "worker/spool.h"

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
  /// Where reports wait for a coordinator that is away; null = in memory alone. With unread ones of
  /// an earlier process, those go first.
  std::shared_ptr<Spool> spool;
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
  /// FAILED_PRECONDITION: not ours any more. CANCELLED: dropped, or left. After a refusal the
  /// outcome goes out as FAILED with the refusal's words. An outcome that the spool has already
  /// stands.
  Status Finish(AttemptEnd end);
  /// After Finish: the job in its place, if the end wanted one and there was one. Once.
  std::optional<Lease> TakeNext();

  /// Nothing more is said, now or later.
  void Drop() { EndHere(/*keep=*/false); }
  /// Nothing more is said by this process; what is on disk stays there for the next one.
  void Leave() { EndHere(/*keep=*/true); }

  /// What keeps reports, and training, from going on; empty = nothing.
  std::string Problem() const;

 private:
  using Item = std::variant<Point, StatisticsText, Checkpoint, AttemptEnd>;

  // uploader.cc: from items to reports.
  void MakeReports();
  bool WaitForWork() GYRE_REQUIRES(mutex_);
  Report TakeReport() GYRE_REQUIRES(mutex_);
  bool HandOn(Report report);
  void KeepTheRest() GYRE_REQUIRES(mutex_);
  void EndHere(bool keep);

  // uploader_send.cc: reports to the coordinator.
  void SendReports();
  std::shared_ptr<const Report> AwaitReport();
  Status Deliver(const Report& report);
  bool IsCarried(const Report& report) const GYRE_REQUIRES(mutex_);
  void GoneAway();
  void CarryCheckpoints();
  Status Carry(const CheckpointReport& report);
  bool AwaitCarried();
  static size_t BytesOf(const Item& item);
  size_t BatchInFront() const GYRE_REQUIRES(mutex_);
  PointBatch TakeBatch(size_t items) GYRE_REQUIRES(mutex_);
  Status SendBatch(const PointBatch& batch);
  Status SendEnd(const AttemptEnd& end);
  void Unsent(const Checkpoint& checkpoint) const;
  void Obsolete(const std::vector<std::string>& hashes) const;
  Status SendUntilAnswered(const std::function<Status()>& send);
  bool Add(Item item);
  void Push(Item item) GYRE_REQUIRES(mutex_);
  void EndEarly(Status why);

  const AttemptId attempt_;
  CoordinatorClient& client_;
  const UploaderOptions options_;
  const bool has_end_;    // the spool that an earlier process has left tells the outcome
  int64_t sequence_ = 0;  // of the last batch that was made; its own thread's
  // Of the thread that sends.
  int64_t acknowledged_ = 0;  // batches up to this one
  Millis next_batch_{0};      // not before
  std::stop_source stop_;     // of every call

  mutable Mutex mutex_;
  Condition changed_;
  std::deque<Item> waiting_ GYRE_GUARDED_BY(mutex_);
  size_t waiting_bytes_ GYRE_GUARDED_BY(mutex_) = 0;
  std::optional<Report> in_hand_
      GYRE_GUARDED_BY(mutex_);  // made, and ended before it was handed on
  std::shared_ptr<const Report> current_ GYRE_GUARDED_BY(mutex_);  // on its way
  std::deque<CheckpointReport> reports_ GYRE_GUARDED_BY(mutex_);   // the first may be on its way
  bool spooling_ GYRE_GUARDED_BY(mutex_) = false;  // reports go to the spool and come from there
  bool writing_ GYRE_GUARDED_BY(mutex_) = false;   // somebody works on the spool, without the lock
  bool keeps_spool_ GYRE_GUARDED_BY(mutex_) = false;  // for the next process
  std::string blocked_ GYRE_GUARDED_BY(mutex_);       // why the spool takes no more
  std::string fingerprint_ GYRE_GUARDED_BY(mutex_);
  bool finished_ GYRE_GUARDED_BY(mutex_) = false;      // the outcome is acknowledged
  std::optional<Lease> next_ GYRE_GUARDED_BY(mutex_);  // see TakeNext
  Status ended_ GYRE_GUARDED_BY(mutex_);               // why it ended early; OK = it has not
  std::jthread carrier_;  // these three last: they use all of the above
  std::jthread sender_;
  std::jthread maker_;
};

}  // namespace gyre
