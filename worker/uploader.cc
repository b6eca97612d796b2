#include "worker/uploader.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace gyre {
namespace {

constexpr Millis kLookForRoom{500};  // while the disk is full, or the spool

}  // namespace

Uploader::Uploader(AttemptId attempt, CoordinatorClient& client, UploaderOptions options)
    : attempt_(std::move(attempt)),
      client_(client),
      options_(std::move(options)),
      has_end_(options_.spool != nullptr && options_.spool->summary().outcome) {
  if (options_.spool != nullptr) {
    sequence_ = options_.spool->summary().last_sequence;
    spooling_ = options_.spool->HasUnread();
  }
  carrier_ = std::jthread([this] { CarryCheckpoints(); });
  sender_ = std::jthread([this] { SendReports(); });
  maker_ = std::jthread([this] { MakeReports(); });
}

Uploader::~Uploader() {
  Leave();
  maker_ = std::jthread();
  sender_ = std::jthread();
  carrier_ = std::jthread();
  if (options_.spool == nullptr) return;
  const MutexLock lock(mutex_);
  if (keeps_spool_) {
    KeepTheRest();
  } else {
    options_.spool->Remove();
  }
}

// What was not on disk yet; nobody else is there any more.
void Uploader::KeepTheRest() {
  std::vector<Report> reports;
  if (!spooling_) {
    for (const CheckpointReport& report : reports_) reports.emplace_back(report);
    if (current_ != nullptr && !IsCarried(*current_)) reports.push_back(*current_);
  }
  if (in_hand_) reports.push_back(*std::move(in_hand_));
  while (!waiting_.empty()) reports.push_back(TakeReport());
  for (const Report& report : reports) {
    if (const Status kept = options_.spool->Append(report); !kept.ok()) {
      return LogWarning(ToString(attempt_) + ": what it had to report is lost (" + kept.message() +
                        ")");
    }
  }
}

void Uploader::SetFingerprint(std::string fingerprint) {
  const MutexLock lock(mutex_);
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
  MutexLock lock(mutex_);
  const auto has_room = [&]() GYRE_REQUIRES(mutex_) {
    return waiting_.empty() || (waiting_.size() < options_.max_waiting &&
                                waiting_bytes_ + bytes <= options_.max_waiting_bytes);
  };
  changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) { return has_room() || !ended_.ok(); });
  if (!ended_.ok()) return false;
  Push(std::move(item));
  return true;
}

void Uploader::Push(Item item) {
  waiting_bytes_ += BytesOf(item);
  waiting_.push_back(std::move(item));
  changed_.NotifyAll();
}

std::optional<Lease> Uploader::TakeNext() {
  const MutexLock lock(mutex_);
  return std::exchange(next_, std::nullopt);
}

Status Uploader::Finish(AttemptEnd end) {
  MutexLock lock(mutex_);
  end.attempt = attempt_;
  if (ended_.ok()) {
    if (!has_end_) Push(end);
    changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) { return finished_ || !ended_.ok(); });
    if (finished_) return OkStatus();
  } else if (keeps_spool_ && !has_end_ &&
             (end.outcome == Outcome::kSucceeded || end.outcome == Outcome::kStopped)) {
    Push(end);  // for the next process; anything else may be because this one ends
  }
  const Status why = ended_;
  lock.Unlock();
  if (why.code() == StatusCode::kFailedPrecondition || why.code() == StatusCode::kCancelled)
    return why;
  // Refused for good. Its threads return, so that this one may send in their place.
  maker_.join();
  sender_.join();
  carrier_.join();
  end.outcome = Outcome::kFailed;
  end.error = why;
  end.wants_next = false;
  end.last_sequence = acknowledged_;
  return SendEnd(end);
}

void Uploader::EndHere(bool keep) {
  {
    const MutexLock lock(mutex_);
    if (ended_.ok() && !finished_) {
      ended_ = Cancelled(keep ? "left for the next process" : "dropped");
      keeps_spool_ = keep;
    }
    changed_.NotifyAll();
  }
  // Not before: a call that is cancelled ends everything early, and nothing would be kept.
  stop_.request_stop();
}

void Uploader::EndEarly(Status why) {
  {
    const MutexLock lock(mutex_);
    if (ended_.ok()) ended_ = std::move(why);
    if (!keeps_spool_) {
      waiting_.clear();
      waiting_bytes_ = 0;
      reports_.clear();
    }
    changed_.NotifyAll();
  }
  if (options_.on_ended) options_.on_ended();
}

std::string Uploader::Problem() const {
  const MutexLock lock(mutex_);
  return blocked_;
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

// Until there is something to report now, and somebody to take it. False: it is over.
bool Uploader::WaitForWork() {
  const auto is_over = [&]() GYRE_REQUIRES(mutex_) { return finished_ || !ended_.ok(); };
  changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) { return !waiting_.empty() || is_over(); });
  changed_.WaitFor(mutex_, options_.batch_wait, [&]() GYRE_REQUIRES(mutex_) {
    const size_t items = BatchInFront();
    return is_over() || items >= options_.batch_points || items < waiting_.size();
  });
  // While one is on its way, points gather for the next.
  changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) {
    return is_over() || (!writing_ && (spooling_ || current_ == nullptr));
  });
  return !is_over();
}

// What is in front, as it will be sent.
Report Uploader::TakeReport() {
  if (const size_t items = BatchInFront(); items > 0) {
    PointBatch batch = TakeBatch(items);
    batch.sequence = ++sequence_;
    if (batch.sequence == 1) batch.fingerprint = fingerprint_;
    return batch;
  }
  Item item = std::move(waiting_.front());
  waiting_bytes_ -= BytesOf(item);
  waiting_.pop_front();
  if (auto* checkpoint = std::get_if<Checkpoint>(&item)) {
    return CheckpointReport{attempt_, std::move(*checkpoint), sequence_};
  }
  AttemptEnd end = std::get<AttemptEnd>(std::move(item));
  end.last_sequence = sequence_;
  return end;
}

void Uploader::MakeReports() {
  while (true) {
    MutexLock lock(mutex_);
    if (!WaitForWork()) return;
    Report report = TakeReport();
    changed_.NotifyAll();
    lock.Unlock();
    const bool is_end = std::holds_alternative<AttemptEnd>(report);
    if (!HandOn(std::move(report)) || is_end) return;
  }
}

// To the thread that sends, or to the spool.
bool Uploader::HandOn(Report report) {
  MutexLock lock(mutex_);
  while (true) {
    changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) { return !writing_ || !ended_.ok(); });
    if (!ended_.ok()) {
      in_hand_ = std::move(report);
      return false;
    }
    if (!spooling_) {
      current_ = std::make_shared<const Report>(std::move(report));
      changed_.NotifyAll();
      return true;
    }
    writing_ = true;
    lock.Unlock();
    const Status kept = options_.spool->Append(report);
    lock.Lock();
    writing_ = false;
    changed_.NotifyAll();
    if (!kept.ok() && blocked_.empty()) {
      LogWarning(kept.message() + "; training waits until the coordinator takes its reports");
    }
    blocked_ = kept.ok() ? "" : kept.message() + "; training waits until reports are taken";
    if (kept.ok()) return true;
    // A disk may have room again; a spool has once the coordinator is back.
    changed_.WaitFor(mutex_, kLookForRoom,
                     [&]() GYRE_REQUIRES(mutex_) { return !ended_.ok() || !spooling_; });
    if (!spooling_) blocked_.clear();
  }
}

}  // namespace gyre
