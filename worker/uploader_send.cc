// The half of an uploader that sends reports until they are answered.

#include <utility>

#include "base/log.h"
#include "worker/uploader.h"

namespace gyre {
namespace {

// Once is nothing: a connection is made anew.
constexpr int kTriesBeforeSpooling = 2;

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

// The next report; null: it is over.
std::shared_ptr<const Report> Uploader::AwaitReport() {
  MutexLock lock(mutex_);
  while (true) {
    const auto is_drained = [&]() GYRE_REQUIRES(mutex_) { return reports_.empty() && !writing_; };
    changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) {
      return !ended_.ok() || finished_ || current_ != nullptr ||
             (spooling_ && (options_.spool->HasUnread() || is_drained()));
    });
    if (!ended_.ok() || finished_) return nullptr;
    if (current_ != nullptr) return current_;
    if (!options_.spool->HasUnread()) {
      // Everything is answered: back to memory.
      writing_ = true;
      lock.Unlock();
      const Status cleared = options_.spool->Clear();
      if (!cleared.ok()) LogWarning(cleared.message());
      lock.Lock();
      writing_ = spooling_ = false;
      blocked_.clear();
      LogInfo(ToString(attempt_) + ": the coordinator has all that had waited on disk");
      changed_.NotifyAll();
      continue;
    }
    lock.Unlock();
    Result<Report> report = options_.spool->Next();
    if (!report.ok()) {
      EndEarly(Internal("what waited on disk cannot be read: " + report.status().message()));
      return nullptr;
    }
    lock.Lock();
    current_ = std::make_shared<const Report>(*std::move(report));
  }
}

void Uploader::SendReports() {
  while (const std::shared_ptr<const Report> report = AwaitReport()) {
    const Status status = Deliver(*report);
    if (!status.ok()) return EndEarly(status);
    const MutexLock lock(mutex_);
    current_.reset();
    finished_ = std::holds_alternative<AttemptEnd>(*report);
    changed_.NotifyAll();
  }
}

Status Uploader::Deliver(const Report& report) {
  constexpr char kRefused[] = "the coordinator refused a report";
  if (const auto* batch = std::get_if<PointBatch>(&report)) {
    return SendBatch(*batch).WithContext(kRefused);
  }
  if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
    const MutexLock lock(mutex_);
    reports_.push_back(*saved);
    changed_.NotifyAll();
    return OkStatus();
  }
  if (!AwaitCarried()) return Cancelled("dropped");
  return SendEnd(std::get<AttemptEnd>(report)).WithContext(kRefused);
}

bool Uploader::IsCarried(const Report& report) const {
  const auto* saved = std::get_if<CheckpointReport>(&report);
  return saved != nullptr && !reports_.empty() &&
         reports_.back().checkpoint.hash == saved->checkpoint.hash &&
         reports_.back().sequence == saved->sequence;
}

// From now on reports wait on disk, those first that are on their way.
void Uploader::GoneAway() {
  std::vector<Report> reports;
  {
    const MutexLock lock(mutex_);
    if (options_.spool == nullptr || spooling_ || writing_ || !ended_.ok()) return;
    writing_ = true;
    for (const CheckpointReport& report : reports_) reports.emplace_back(report);
    if (current_ != nullptr && !IsCarried(*current_)) reports.push_back(*current_);
  }
  Status kept;
  for (const Report& report : reports) {
    if (kept.ok()) kept = options_.spool->Append(report);
  }
  if (kept.ok()) {
    options_.spool->SkipUnread();  // they are in memory as well
    LogInfo(ToString(attempt_) + ": what it reports waits on disk for the coordinator");
  } else {
    options_.spool->Remove();
    LogWarning(kept.message() + "; reports wait in memory");
  }
  const MutexLock lock(mutex_);
  writing_ = false;
  spooling_ = kept.ok();
  changed_.NotifyAll();
}

// Every checkpoint so far is answered, or given up. False: it is over.
bool Uploader::AwaitCarried() {
  MutexLock lock(mutex_);
  changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) { return reports_.empty() || !ended_.ok(); });
  return ended_.ok();
}

void Uploader::CarryCheckpoints() {
  while (true) {
    CheckpointReport report;
    std::vector<CheckpointReport> overtaken;
    {
      MutexLock lock(mutex_);
      changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) {
        return !reports_.empty() || finished_ || !ended_.ok();
      });
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
    const MutexLock lock(mutex_);
    // A newer one stands behind it, or nothing; it may have been dropped with all the others.
    if (!reports_.empty()) reports_.pop_front();
    changed_.NotifyAll();
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

Status Uploader::SendBatch(const PointBatch& batch) {
  const std::stop_token stop = stop_.get_token();
  {
    MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, stop, next_batch_ - Clock::Real().Now(), [] { return false; });
  }
  Millis pause{0};
  GYRE_RETURN_IF_ERROR(SendUntilAnswered([&]() -> Status {
    GYRE_ASSIGN_OR_RETURN(pause, client_.ReportPoints(batch, stop));
    return OkStatus();
  }));
  next_batch_ = Clock::Real().Now() + pause;
  acknowledged_ = batch.sequence;
  LogDebug(ToString(attempt_) + ": batches up to " + std::to_string(acknowledged_) +
           " are acknowledged");
  return OkStatus();
}

void Uploader::Obsolete(const std::vector<std::string>& hashes) const {
  if (!hashes.empty() && options_.on_obsolete) options_.on_obsolete(hashes);
}

Status Uploader::SendEnd(const AttemptEnd& end) {
  Finished finished;
  GYRE_RETURN_IF_ERROR(SendUntilAnswered([&]() -> Status {
    GYRE_ASSIGN_OR_RETURN(finished, client_.FinishAttempt(end, stop_.get_token()));
    return OkStatus();
  }));
  Obsolete(finished.obsolete);
  const MutexLock lock(mutex_);
  next_ = std::move(finished.next);
  return OkStatus();
}

Status Uploader::SendUntilAnswered(const std::function<Status()>& send) {
  const std::stop_token stop = stop_.get_token();
  Backoff backoff;
  for (int tries = 1;; ++tries) {
    const Status status = send();
    if (stop.stop_requested() && !status.ok()) return Cancelled("dropped");
    if (!IsPassing(status)) return status;
    if (status.code() == StatusCode::kNotFound && options_.on_unregistered)
      options_.on_unregistered();
    if (tries >= kTriesBeforeSpooling) GoneAway();
    MutexLock lock(mutex_);
    changed_.WaitFor(mutex_, stop, backoff.Next(), [] { return false; });
  }
}

}  // namespace gyre
