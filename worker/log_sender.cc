#include "worker/log_sender.h"

#include <algorithm>
#include <utility>

#include "worker/backoff.h"

namespace gyre {
namespace {

bool MayPass(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kCancelled ||
         status.code() == StatusCode::kDeadlineExceeded ||
         status.code() == StatusCode::kResourceExhausted || status.code() == StatusCode::kNotFound;
}

}  // namespace

LogSender::LogSender(AttemptId attempt, CoordinatorClient& client, LogSenderOptions options)
    : attempt_(attempt),
      client_(client),
      options_(options),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

LogSender::~LogSender() = default;

void LogSender::Append(std::string_view bytes) {
  const MutexLock lock(mutex_);
  if (refused_ || finishing_) return;
  waiting_ += bytes;
  if (waiting_.size() > options_.max_waiting) {
    const size_t left_out = waiting_.size() - options_.max_waiting;
    waiting_.erase(0, left_out);
    offset_ += static_cast<int64_t>(left_out);
  }
  changed_.NotifyAll();
}

bool LogSender::Finish(Millis patience) {
  MutexLock lock(mutex_);
  finishing_ = true;
  changed_.NotifyAll();
  const bool sent = changed_.WaitFor(
      mutex_, patience, [this]() GYRE_REQUIRES(mutex_) { return waiting_.empty() || refused_; });
  return sent && !refused_;
}

void LogSender::Run(const std::stop_token& stop) {
  Backoff backoff;
  MutexLock lock(mutex_);
  while (
      changed_.Wait(mutex_, stop, [this]() GYRE_REQUIRES(mutex_) { return !waiting_.empty(); })) {
    const LogChunk chunk{attempt_, offset_, waiting_.substr(0, options_.chunk)};
    lock.Unlock();
    const Status status = client_.AppendLog(chunk, stop);
    lock.Lock();
    if (stop.stop_requested()) return;
    if (status.ok()) {
      backoff.Reset();
      // Some of it may have been left out meanwhile.
      const int64_t sent = chunk.offset + static_cast<int64_t>(chunk.bytes.size()) - offset_;
      const auto gone = static_cast<size_t>(std::max<int64_t>(0, sent));
      waiting_.erase(0, gone);
      offset_ += static_cast<int64_t>(gone);
      changed_.NotifyAll();
      changed_.WaitFor(mutex_, stop, options_.pause,
                       [this]() GYRE_REQUIRES(mutex_) { return finishing_; });
    } else if (MayPass(status)) {
      changed_.WaitFor(mutex_, stop, backoff.Next(), [] { return false; });
    } else {
      refused_ = true;
      waiting_.clear();
      changed_.NotifyAll();
      return;
    }
  }
}

}  // namespace gyre
