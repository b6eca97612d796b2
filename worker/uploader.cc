#include "worker/uploader.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace gyre {
namespace {

// Sending again may help.
bool IsPassing(const Status& status) {
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kResourceExhausted:
    case StatusCode::kCancelled:
    case StatusCode::kNotFound:
      return true;
    default:
      return false;
  }
}

}  // namespace

Uploader::Uploader(AttemptId attempt, CoordinatorClient& client, UploaderOptions options)
    : attempt_(attempt),
      client_(client),
      options_(std::move(options)),
      carrier_([this] { CarryCheckpoints(); }),
      thread_([this] { Run(); }) {}

Uploader::~Uploader() { Drop(); }

void Uploader::SetFingerprint(std::string fingerprint) {
  const std::lock_guard lock(mutex_);
  fingerprint_ = std::move(fingerprint);
}

bool Uploader::AddPoint(Point point) { return Add(std::move(point)); }
bool Uploader::AddStatistics(StatisticsText statistics) { return Add(std::move(statistics)); }
bool Uploader::AddCheckpoint(Checkpoint checkpoint) { return Add(std::move(checkpoint)); }

size_t Uploader::BytesOf(const Item& item) {
  if (const auto* point = std::get_if<Point>(&item)) return sizeof(Item) + point->metric.size();
  if (const auto* statistics = std::get_if<StatisticsText>(&item))
    return sizeof(Item) + statistics->json.size();
  return sizeof(Item);
}

bool Uploader::Add(Item item) {
  const size_t bytes = BytesOf(item);
  std::unique_lock lock(mutex_);
  const auto has_room = [&] {
    return waiting_.empty() || (waiting_.size() < options_.max_waiting &&
                                waiting_bytes_ + bytes <= options_.max_waiting_bytes);
  };
  changed_.wait(lock, [&] { return has_room() || !ended_.ok(); });
  if (!ended_.ok()) return false;
  Push(std::move(item));
  return true;
}

void Uploader::Push(Item item) {
  waiting_bytes_ += BytesOf(item);
  waiting_.push_back(std::move(item));
  changed_.notify_all();
}

Status Uploader::Finish(AttemptEnd end) {
  std::unique_lock lock(mutex_);
  end.attempt = attempt_;
  if (ended_.ok()) {
    Push(end);
    changed_.wait(lock, [&] { return finished_ || !ended_.ok(); });
    if (finished_) return OkStatus();
  }
  const Status why = ended_;
  lock.unlock();
  if (why.code() == StatusCode::kFailedPrecondition || why.code() == StatusCode::kCancelled)
    return why;
  // Refused for good. Its threads return, so that this one may send in their place.
  thread_.join();
  carrier_.join();
  end.outcome = Outcome::kFailed;
  end.error = why;
  return SendEnd(end);
}

void Uploader::Drop() {
  stop_.request_stop();
  const std::lock_guard lock(mutex_);
  if (ended_.ok() && !finished_) ended_ = Cancelled("dropped");
  changed_.notify_all();
}

void Uploader::EndEarly(Status why) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_.ok()) ended_ = std::move(why);
    waiting_.clear();
    waiting_bytes_ = 0;
    reports_.clear();
    changed_.notify_all();
  }
  if (options_.on_ended) options_.on_ended();
}

size_t Uploader::BatchInFront() const {
  size_t count = 0, bytes = 0;
  while (count < waiting_.size() && count < options_.batch_points) {
    const Item& item = waiting_[count];
    if (!std::holds_alternative<Point>(item) && !std::holds_alternative<StatisticsText>(item))
      break;
    bytes += BytesOf(item);
    if (count > 0 && bytes > options_.batch_bytes) break;
    ++count;
  }
  return count;
}

PointBatch Uploader::TakeBatch(size_t items) {
  PointBatch batch{.attempt = attempt_};
  for (; items > 0; --items) {
    Item item = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= BytesOf(item);
    if (auto* point = std::get_if<Point>(&item)) batch.points.push_back(std::move(*point));
    if (auto* statistics = std::get_if<StatisticsText>(&item))
      batch.statistics.push_back(std::move(*statistics));
  }
  return batch;
}

// Until there is something to send now. False: it is over.
bool Uploader::WaitForWork(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return !waiting_.empty() || !ended_.ok(); });
  changed_.wait_for(lock, options_.batch_wait, [&] {
    const size_t items = BatchInFront();
    return !ended_.ok() || items >= options_.batch_points || items < waiting_.size();
  });
  return ended_.ok();
}

void Uploader::Run() {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!WaitForWork(lock)) return;
    PointBatch batch;
    std::optional<Item> other;
    if (const size_t items = BatchInFront(); items > 0) {
      batch = TakeBatch(items);
    } else {
      other = std::move(waiting_.front());
      waiting_bytes_ -= BytesOf(*other);
      waiting_.pop_front();
    }
    changed_.notify_all();
    lock.unlock();

    if (!other) {
      if (Status status = SendBatch(std::move(batch)); !status.ok())
        return EndEarly(status.WithContext("the coordinator refused a report"));
    } else if (auto* checkpoint = std::get_if<Checkpoint>(&*other)) {
      lock.lock();
      reports_.push_back({attempt_, std::move(*checkpoint), sequence_});
      changed_.notify_all();
    } else {
      if (!AwaitCarried()) return;
      const Status status = SendEnd(std::get<AttemptEnd>(*other));
      if (!status.ok()) return EndEarly(status.WithContext("the coordinator refused a report"));
      lock.lock();
      finished_ = true;
      changed_.notify_all();
      return;
    }
  }
}

// Every checkpoint so far is answered, or given up. False: it is over.
bool Uploader::AwaitCarried() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reports_.empty() || !ended_.ok(); });
  return ended_.ok();
}

void Uploader::CarryCheckpoints() {
  while (true) {
    CheckpointReport report;
    std::vector<CheckpointReport> overtaken;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !reports_.empty() || finished_ || !ended_.ok(); });
      if (reports_.empty() || !ended_.ok()) return;
      // What has to be sent is sent only if it is still the newest.
      while (options_.send_object && reports_.size() > 1) {
        overtaken.push_back(std::move(reports_.front()));
        reports_.pop_front();
      }
      report = reports_.front();
    }
    for (const CheckpointReport& old : overtaken) Unsent(old.checkpoint);
    const Status status = Carry(report);
    if (!status.ok()) return EndEarly(status);
    const std::lock_guard lock(mutex_);
    // A newer one stands behind it, or nothing; it may have been dropped with all the others.
    if (!reports_.empty()) reports_.pop_front();
    changed_.notify_all();
  }
}

Status Uploader::Carry(const CheckpointReport& report) {
  std::vector<std::string> obsolete;
  const auto tell = [&] {
    return SendUntilAnswered([&]() -> Status {
      GYRE_ASSIGN_OR_RETURN(obsolete, client_.ReportCheckpoint(report, stop_.get_token()));
      return OkStatus();
    });
  };
  Status lost;
  Status told = tell();
  // Not there: it is sent, and may yet be deleted as another job's before the report comes.
  for (int tries = 0; told.code() == StatusCode::kDataLoss && tries < 3; ++tries) {
    if (!options_.send_object) break;
    lost = options_.send_object(report.checkpoint.hash, stop_.get_token());
    if (lost.code() == StatusCode::kCancelled) return lost;
    if (!lost.ok()) break;
    told = tell();
  }
  if (told.ok()) Obsolete(obsolete);
  if (told.code() != StatusCode::kDataLoss)
    return told.WithContext("the coordinator refused a report");
  const std::string what =
      "the checkpoint of step " + std::to_string(report.checkpoint.step) +
      " cannot be given to the coordinator: " + (lost.ok() ? told : lost).message();
  // Not DATA_LOSS: that would be the checkpoint that the attempt began with.
  if (report.checkpoint.weights_only) return Internal(what);
  LogWarning(ToString(attempt_) + ": " + what + "; training goes on");
  Unsent(report.checkpoint);
  return OkStatus();
}

void Uploader::Unsent(const Checkpoint& checkpoint) const {
  if (options_.send_object && options_.on_unsent) options_.on_unsent(checkpoint.hash);
}

Status Uploader::SendBatch(PointBatch batch) {
  batch.sequence = sequence_ + 1;
  if (batch.sequence == 1) {
    const std::lock_guard lock(mutex_);
    batch.fingerprint = fingerprint_;
  }
  GYRE_RETURN_IF_ERROR(
      SendUntilAnswered([&] { return client_.ReportPoints(batch, stop_.get_token()).status(); }));
  ++sequence_;
  return OkStatus();
}

void Uploader::Obsolete(const std::vector<std::string>& hashes) const {
  if (!hashes.empty() && options_.on_obsolete) options_.on_obsolete(hashes);
}

Status Uploader::SendEnd(AttemptEnd end) {
  end.last_sequence = sequence_;
  std::vector<std::string> obsolete;
  GYRE_RETURN_IF_ERROR(SendUntilAnswered([&]() -> Status {
    GYRE_ASSIGN_OR_RETURN(obsolete, client_.FinishAttempt(end, stop_.get_token()));
    return OkStatus();
  }));
  Obsolete(obsolete);
  return OkStatus();
}

Status Uploader::SendUntilAnswered(const std::function<Status()>& send) {
  const std::stop_token stop = stop_.get_token();
  Backoff backoff;
  while (true) {
    const Status status = send();
    if (stop.stop_requested() && !status.ok()) return Cancelled("dropped");
    if (!IsPassing(status)) return status;
    if (status.code() == StatusCode::kNotFound && options_.on_unregistered)
      options_.on_unregistered();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, backoff.Next(), [] { return false; });
  }
}

}  // namespace gyre
