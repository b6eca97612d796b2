#include "coordinator/fair_share.h"

#include <algorithm>
#include <utility>

namespace gyre {

RunnableQueue::RunnableQueue(const QueueView& view, Millis now, std::optional<int64_t> except)
    : view_(&view), ready_(view.ready->begin()), except_(except) {
  for (const auto& [job, not_before] : *view.delayed) {
    if (not_before <= now && job != except) due_.push_back(job);
  }
  PassExcepted();
}

RunnableQueue::RunnableQueue(const QueueView& view, int64_t job)
    : view_(&view), ready_(view.ready->end()), due_{job} {}

void RunnableQueue::PassExcepted() {
  if (except_ && ready_ != view_->ready->end() && *ready_ == *except_) ++ready_;
}

std::optional<int64_t> RunnableQueue::Job() const {
  const bool has_ready = ready_ != view_->ready->end();
  const bool has_due = next_due_ < due_.size();
  if (!has_ready && !has_due) return std::nullopt;
  if (has_due && (!has_ready || due_[next_due_] < *ready_)) return due_[next_due_];
  return *ready_;
}

void RunnableQueue::Skip() {
  const std::optional<int64_t> job = Job();
  if (next_due_ < due_.size() && due_[next_due_] == *job) {
    ++next_due_;
  } else {
    ++ready_;
    PassExcepted();
  }
}

FairOrder::FairOrder(const SchedulerView& view, Millis now, std::optional<int64_t> claimed)
    : now_(now) {
  for (const QueueView& queue : view.queues) {
    if (queue.intent != SweepIntent::kActive) continue;
    active_.push_back(&queue);
    last_served_ = std::max({last_served_, queue.served, queue.submitter_served});
  }
  waiting_ = active_;
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const QueueView* a, const QueueView* b) {
    return a->priority < b->priority;
  });
  for (const LeaseView& lease : view.leases) {
    const int64_t share = ShareOf(lease.needs);
    used_by_submitter_[lease.submitter] += share;
    used_by_sweep_[lease.sweep] += share;
  }
  FindClaim(claimed);
}

void FairOrder::FindClaim(std::optional<int64_t> job) {
  if (!job) return;
  for (const QueueView* queue : active_) {
    const auto delayed = queue->delayed->find(*job);
    const bool due = delayed != queue->delayed->end() && delayed->second <= now_;
    if (!due && !queue->ready->contains(*job)) continue;
    claimed_ = job;
    claim_.emplace(*queue, *job);
    claim_priority_ = queue->priority;
  }
}

FairOrder::Rank FairOrder::RankOf(int submitter) const {
  const auto used = used_by_submitter_.find(submitter);
  return {used == used_by_submitter_.end() ? 0 : used->second, submitters_.at(submitter).served,
          submitter};
}

void FairOrder::EnterNextPriority() {
  submitters_.clear();
  const int priority = waiting_.back()->priority;
  while (!waiting_.empty() && waiting_.back()->priority == priority) {
    const QueueView& queue = *waiting_.back();
    waiting_.pop_back();
    Submitter& submitter = submitters_[queue.submitter];
    const auto claim = served_by_claim_.find(queue.sweep);
    const int64_t served = claim == served_by_claim_.end() ? queue.served : claim->second;
    submitter.served = std::max({submitter.served, queue.submitter_served, served});
    submitter.queues.emplace(Rank{used_by_sweep_[queue.sweep], served, queue.sweep},
                             RunnableQueue(queue, now_, claimed_));
  }
  for (const auto& [id, submitter] : submitters_) order_.insert(RankOf(id));
}

RunnableQueue* FairOrder::First() {
  while (order_.empty() && !waiting_.empty()) {
    claims_ = claim_ && claim_->view().priority == waiting_.back()->priority;
    if (claims_) return &*claim_;
    EnterNextPriority();
  }
  if (order_.empty()) return nullptr;
  const int first = static_cast<int>(std::get<2>(*order_.begin()));
  return &submitters_.at(first).queues.begin()->second;
}

void FairOrder::Served() {
  ++last_served_;
  if (claims_) {
    const QueueView& queue = claim_->view();
    used_by_submitter_[queue.submitter] += ShareOf(queue.needs);
    used_by_sweep_[queue.sweep] += ShareOf(queue.needs);
    served_by_claim_[queue.sweep] = last_served_;
    return Drop();
  }
  const int id = static_cast<int>(std::get<2>(*order_.begin()));
  Submitter& submitter = submitters_.at(id);
  order_.erase(order_.begin());
  auto node = submitter.queues.extract(submitter.queues.begin());
  RunnableQueue& queue = node.mapped();
  const int64_t sweep = queue.view().sweep, share = ShareOf(queue.view().needs);
  queue.Skip();
  submitter.served = last_served_;
  node.key() = {used_by_sweep_[sweep] += share, last_served_, sweep};
  submitter.queues.insert(std::move(node));
  used_by_submitter_[id] += share;
  order_.insert(RankOf(id));
}

void FairOrder::Drop() {
  if (claims_) {
    claims_ = false;
    claim_.reset();
    return;
  }
  const int id = static_cast<int>(std::get<2>(*order_.begin()));
  Submitter& submitter = submitters_.at(id);
  submitter.queues.erase(submitter.queues.begin());
  if (submitter.queues.empty()) order_.erase(order_.begin());
}

std::optional<Millis> FairOrder::NextDue() const {
  std::optional<Millis> next;
  for (const QueueView* queue : active_) {
    for (const auto& [job, not_before] : *queue->delayed) {
      if (not_before > now_ && (!next || not_before < *next)) next = not_before;
    }
  }
  return next;
}

int JobsAhead(const SchedulerView& view, Millis now, int64_t job, int most) {
  FairOrder order(view, now, view.reserved);
  int ahead = 0;
  while (ahead < most) {
    RunnableQueue* queue = order.First();
    if (queue == nullptr) break;
    const std::optional<int64_t> next = queue->Job();
    if (next == job) break;
    if (next) {
      ++ahead;
      order.Served();
    } else {
      order.Drop();
    }
  }
  return ahead;
}

}  // namespace gyre
