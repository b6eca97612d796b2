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
      thread_([this] { Run(); }) {}

Uploader::~Uploader() { Drop(); }

void Uploader::SetFingerprint(std::string fingerprint) {
  const std::lock_guard lock(mutex_);
  fingerprint_ = std::move(fingerprint);
}

bool Uploader::AddPoint(Point point) { return Add(std::move(point)); }
bool Uploader::AddCheckpoint(Checkpoint checkpoint) { return Add(std::move(checkpoint)); }

bool Uploader::Add(Item item) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return waiting_.size() < options_.max_waiting || !ended_.ok(); });
  if (!ended_.ok()) return false;
  waiting_.push_back(std::move(item));
  changed_.notify_all();
  return true;
}

Status Uploader::Finish(AttemptEnd end) {
  std::unique_lock lock(mutex_);
  end.attempt = attempt_;
  if (ended_.ok()) {
    waiting_.emplace_back(end);
    changed_.notify_all();
    changed_.wait(lock, [&] { return finished_ || !ended_.ok(); });
    if (finished_) return OkStatus();
  }
  const Status why = ended_;
  lock.unlock();
  if (why.code() == StatusCode::kFailedPrecondition || why.code() == StatusCode::kCancelled)
    return why;
  // Refused for good. Its thread has returned, so that this one may send in its place.
  thread_.join();
  end.outcome = Outcome::kFailed;
  end.error = why.WithContext("the coordinator refused a report");
  return SendItem(end);
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
    changed_.notify_all();
  }
  if (options_.on_ended) options_.on_ended();
}

size_t Uploader::PointsInFront() const {
  size_t count = 0;
  while (count < waiting_.size() && count < options_.batch_points &&
         std::holds_alternative<Point>(waiting_[count])) {
    ++count;
  }
  return count;
}

// Until there is something to send now. False: it is over.
bool Uploader::WaitForWork(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return !waiting_.empty() || !ended_.ok(); });
  changed_.wait_for(lock, options_.batch_wait, [&] {
    const size_t points = PointsInFront();
    return !ended_.ok() || points >= options_.batch_points || points < waiting_.size();
  });
  return ended_.ok();
}

void Uploader::Run() {
  while (true) {
    std::unique_lock lock(mutex_);
    if (!WaitForWork(lock)) return;
    std::vector<Point> points;
    std::optional<Item> other;
    if (const size_t count = PointsInFront(); count > 0) {
      for (size_t i = 0; i < count; ++i) points.push_back(std::get<Point>(std::move(waiting_[i])));
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      other = std::move(waiting_.front());
      waiting_.pop_front();
    }
    changed_.notify_all();
    lock.unlock();

    const Status status = other ? SendItem(*other) : SendPoints(std::move(points));
    if (!status.ok()) return EndEarly(status);
    if (other && std::holds_alternative<AttemptEnd>(*other)) {
      lock.lock();
      finished_ = true;
      changed_.notify_all();
      return;
    }
  }
}

Status Uploader::SendPoints(std::vector<Point> points) {
  PointBatch batch{attempt_, sequence_ + 1, std::move(points), {}};
  if (batch.sequence == 1) {
    const std::lock_guard lock(mutex_);
    batch.fingerprint = fingerprint_;
  }
  GYRE_RETURN_IF_ERROR(
      SendUntilAnswered([&] { return client_.ReportPoints(batch, stop_.get_token()); }));
  ++sequence_;
  return OkStatus();
}

Status Uploader::SendItem(const Item& item) {
  std::vector<std::string> obsolete;
  const Status status = SendUntilAnswered([&]() -> Status {
    Result<std::vector<std::string>> answer = std::vector<std::string>();
    if (const auto* checkpoint = std::get_if<Checkpoint>(&item)) {
      answer = client_.ReportCheckpoint({attempt_, *checkpoint, sequence_}, stop_.get_token());
    } else {
      AttemptEnd end = std::get<AttemptEnd>(item);
      end.last_sequence = sequence_;
      answer = client_.FinishAttempt(end, stop_.get_token());
    }
    if (answer.ok()) obsolete = *std::move(answer);
    return answer.status();
  });
  if (status.ok() && !obsolete.empty() && options_.on_obsolete) options_.on_obsolete(obsolete);
  return status;
}

Status Uploader::SendUntilAnswered(const std::function<Status()>& send) {
  const std::stop_token stop = stop_.get_token();
  backoff_.Reset();
  while (true) {
    const Status status = send();
    if (stop.stop_requested() && !status.ok()) return Cancelled("dropped");
    if (!IsPassing(status)) return status;
    if (status.code() == StatusCode::kNotFound && options_.on_unregistered)
      options_.on_unregistered();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, backoff_.Next(), [] { return false; });
  }
}

}  // namespace gyre
