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
  const std::lock_guard lock(mutex_);
  if (refused_ || finishing_) return;
  waiting_ += bytes;
  if (waiting_.size() > options_.max_waiting) {
    const size_t left_out = waiting_.size() - options_.max_waiting;
    waiting_.erase(0, left_out);
    offset_ += static_cast<int64_t>(left_out);
  }
  changed_.notify_all();
}

bool LogSender::Finish(Millis patience) {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  changed_.notify_all();
  const bool sent =
      changed_.wait_for(lock, patience, [this] { return waiting_.empty() || refused_; });
  return sent && !refused_;
}

void LogSender::Run(const std::stop_token& stop) {
  Backoff backoff;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    const LogChunk chunk{attempt_, offset_, waiting_.substr(0, options_.chunk)};
    lock.unlock();
    const Status status = client_.AppendLog(chunk, stop);
    lock.lock();
    if (stop.stop_requested()) return;
    if (status.ok()) {
      backoff.Reset();
      // Some of it may have been left out meanwhile.
      const int64_t sent = chunk.offset + static_cast<int64_t>(chunk.bytes.size()) - offset_;
      const auto gone = static_cast<size_t>(std::max<int64_t>(0, sent));
      waiting_.erase(0, gone);
      offset_ += static_cast<int64_t>(gone);
      changed_.notify_all();
      changed_.wait_for(lock, stop, options_.pause, [this] { return finishing_; });
    } else if (MayPass(status)) {
      changed_.wait_for(lock, stop, backoff.Next(), [] { return false; });
    } else {
      refused_ = true;
      waiting_.clear();
      changed_.notify_all();
      return;
    }
  }
}

}  // namespace gyre
