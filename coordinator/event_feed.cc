#include "coordinator/event_feed.h"

#include <utility>

#include "base/log.h"

namespace gyre {
namespace {

constexpr int kEventsPerDelivery = 256;

}  // namespace

EventFeed::EventFeed(EventReader reader) : reader_(std::move(reader)), thread_([this] { Run(); }) {}

EventFeed::~EventFeed() { Stop(); }

void EventFeed::Add(EventSink* sink, int64_t after_id, std::optional<int64_t> sweep_id) {
  {
    const MutexLock lock(mutex_);
    if (!stopping_) {
      watchers_[sink] = {after_id < 0 ? last_event_id_ : after_id, sweep_id, true, {}};
      changed_.NotifyAll();
      return;
    }
  }
  sink->End(Unavailable("the coordinator is shutting down"));
}

void EventFeed::Ready(EventSink* sink) {
  const MutexLock lock(mutex_);
  const auto found = watchers_.find(sink);
  if (found == watchers_.end()) return;
  found->second.ready = true;
  changed_.NotifyAll();
}

void EventFeed::Remove(EventSink* sink) {
  const MutexLock lock(mutex_);
  watchers_.erase(sink);
  while (calling_ == sink) changed_.Wait(mutex_);
}

void EventFeed::Stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
  reader_.reset();
}

void EventFeed::OnCommitted(int64_t last_event_id) {
  const MutexLock lock(mutex_);
  if (last_event_id_ == last_event_id) return;
  last_event_id_ = last_event_id;
  if (!watchers_.empty()) changed_.NotifyAll();
}

void EventFeed::OnProgress(const RunningJobReply& job) {
  const MutexLock lock(mutex_);
  for (auto& [sink, watcher] : watchers_) {
    if (!watcher.sweep_id || *watcher.sweep_id == job.sweep_id) watcher.progress[job.job_id] = job;
  }
  changed_.NotifyAll();
}

bool EventFeed::HasWork(const Watcher& watcher) const {
  return watcher.ready && (watcher.after_id < last_event_id_ || !watcher.progress.empty());
}

EventFeed::Watchers::iterator EventFeed::NextWithWork() {
  // Round robin: first those behind the last one served.
  for (auto watcher = watchers_.upper_bound(last_served_); watcher != watchers_.end(); ++watcher) {
    if (HasWork(watcher->second)) return watcher;
  }
  for (auto watcher = watchers_.begin(); watcher != watchers_.end(); ++watcher) {
    if (HasWork(watcher->second)) return watcher;
  }
  return watchers_.end();
}

void EventFeed::Run() {
  MutexLock lock(mutex_);
  while (!stopping_) {
    const auto watcher = NextWithWork();
    if (watcher == watchers_.end()) {
      changed_.Wait(mutex_);
    } else {
      Serve(watcher->first);
    }
  }
  while (!watchers_.empty()) {
    EventSink* const sink = calling_ = watchers_.begin()->first;
    watchers_.erase(watchers_.begin());
    lock.Unlock();
    sink->End(Unavailable("the coordinator is shutting down"));
    lock.Lock();
    calling_ = nullptr;
    changed_.NotifyAll();
  }
}

void EventFeed::Serve(EventSink* sink) {
  Watcher& watcher = watchers_.at(sink);
  const int64_t after = watcher.after_id, up_to = last_event_id_;
  const std::optional<int64_t> sweep_id = watcher.sweep_id;
  std::vector<RunningJobReply> progress;
  for (auto& [job, newest] : watcher.progress) progress.push_back(std::move(newest));
  watcher.progress.clear();
  watcher.ready = false;
  calling_ = last_served_ = sink;
  mutex_.Unlock();

  const Result<std::vector<EventRow>> events =
      reader_->Read(after, up_to, sweep_id, kEventsPerDelivery);
  int64_t reached = up_to;
  bool delivered = false;
  if (!events.ok()) {
    LogError("cannot read events: " + events.status().ToString());
    sink->End(events.status());
  } else {
    if (events->size() == kEventsPerDelivery) reached = events->back().event.id;
    delivered = !events->empty() || !progress.empty();
    if (delivered) sink->Deliver(*events, progress);
  }

  mutex_.Lock();
  calling_ = nullptr;
  changed_.NotifyAll();
  const auto found = watchers_.find(sink);
  if (found == watchers_.end()) return;
  if (!events.ok()) {
    watchers_.erase(found);
    return;
  }
  found->second.after_id = reached;
  if (!delivered) found->second.ready = true;
}

}  // namespace gyre
