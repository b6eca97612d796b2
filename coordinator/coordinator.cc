#include "coordinator/coordinator.h"

#include <algorithm>
#include <utility>

#include "base/ids.h"
#include "base/log.h"

namespace gyre {

Coordinator::Coordinator(std::unique_ptr<Store> store, const Timing& timing,
                         CommitListener* listener)
    : store_(std::move(store)), timing_(timing), listener_(listener), epoch_(NewId()) {}

Result<std::unique_ptr<Coordinator>> Coordinator::Open(std::unique_ptr<Store> store,
                                                       const Timing& timing,
                                                       CommitListener* listener, const Moment& at) {
  std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(store), timing, listener));
  GYRE_RETURN_IF_ERROR(coordinator->Reload(at));
  Status started;
  const Call note{[&](const Moment& now) -> Status {
                    GYRE_RETURN_IF_ERROR(coordinator->store_->StartEpoch(coordinator->epoch_,
                                                                         GYRE_VERSION, now.wall));
                    return coordinator->Note("coordinator_started",
                                             {.details = {{"epoch", coordinator->epoch_}}}, now);
                  },
                  [&](const Status& status) { started = status; }};
  coordinator->Execute({note}, at);
  GYRE_RETURN_IF_ERROR(
      started.WithContext("cannot write the database " + coordinator->store_->path().string()));
  return coordinator;
}

Status Coordinator::Reload(const Moment& at) {
  GYRE_ASSIGN_OR_RETURN(Snapshot snapshot, store_->Load());
  last_event_id_ = snapshot.last_event_id;
  is_stale_ = false;
  state_ = State(std::move(snapshot), timing_, at);
  PublishAll();
  return OkStatus();
}

std::optional<Millis> Coordinator::Execute(const std::vector<Call>& calls, const Moment& at) {
  std::vector<Status> results;
  Decisions decisions;
  Status committed = Transact(calls, at, &results, &decisions);
  if (committed.ok()) {
    for (size_t i = 0; i < calls.size(); ++i) calls[i].done(results[i]);
    return decisions.next;
  }
  if (calls.size() > 1) {
    // One call that cannot succeed must not take the others along.
    std::optional<Millis> next;
    for (const Call& call : calls) next = Execute({call}, at);
    return next;
  }
  for (const Call& call : calls) call.done(call.reads && !is_stale_ ? call.run(at) : committed);
  // Nobody may call before the cause is gone, and leases run out all the same.
  return at.now + timing_.heartbeat;
}

Status Coordinator::Transact(const std::vector<Call>& calls, const Moment& at,
                             std::vector<Status>* results, Decisions* decisions) {
  const int64_t writes_before = store_->writes();
  const auto transact = [&]() -> Status {
    if (is_stale_) {
      // No call is to blame, and each may be asked again.
      const Status reloaded = Reload(at);
      if (!reloaded.ok()) return Unavailable("cannot read the database: " + reloaded.message());
    }
    GYRE_RETURN_IF_ERROR(store_->Begin());
    GYRE_RETURN_IF_ERROR(TakeBeats(at));
    for (const Call& call : calls) {
      const int64_t writes = store_->writes();
      results->push_back(call.run(at));
      // Refused before it wrote anything: nothing to undo. Else memory and file may disagree.
      if (!results->back().ok() && store_->writes() != writes) return results->back();
      if (store_->failed()) return Internal("a call ignored an error of the store");
    }
    GYRE_RETURN_IF_ERROR(CarryOut(at, decisions));
    return store_->Commit();
  };
  Status status = transact();
  if (status.ok()) Publish();  // before anybody hears of a lease
  SettleOffers(/*committed=*/status.ok());
  const std::vector<RunningJobReply> progress = std::exchange(progress_, {});
  stale_calls_.clear();
  if (!status.ok()) return Abandon(status, at);

  if (store_->writes() != writes_before) health_ = OkStatus();
  if (listener_ != nullptr) {
    listener_->OnCommitted(last_event_id_);
    for (const RunningJobReply& job : progress) listener_->OnProgress(job);
  }
  return OkStatus();
}

Status Coordinator::Abandon(const Status& status, const Moment& at) {
  const bool callers_fault = !store_->failed() || status.code() == StatusCode::kFailedPrecondition;
  store_->Rollback();
  // A disk that the write-ahead log has filled is not full for ever.
  if (status.code() == StatusCode::kResourceExhausted) store_->ShrinkLog();
  is_stale_ = true;
  if (const Status reloaded = Reload(at); !reloaded.ok()) LogError(reloaded.ToString());
  if (callers_fault) return status;
  if (health_.ok())
    LogError(
        "the results database cannot be written, and nothing is lost: calls are answered again as "
        "soon as it can (" +
        status.message() + ")");
  health_ = status;
  // What keeps the file from being written may pass.
  return Unavailable("the results database cannot be written now: " + status.message());
}

Status Coordinator::CarryOut(const Moment& at, Decisions* decisions) {
  for (const StaleCall& stale : stale_calls_) {
    GYRE_RETURN_IF_ERROR(Note("stale_call_refused",
                              {.job = state_.FindJob(stale.job),
                               .attempt = stale.attempt,
                               .details = {{"call", stale.call}}},
                              at));
  }
  do {
    const SchedulerView view = View(at);
    *decisions = Decide(view, at.now);
    if (!view.offers.empty()) reservation_ = decisions->reservation;
    for (const EndedLease& lease : decisions->suspected) {
      GYRE_RETURN_IF_ERROR(Suspect(*state_.FindJob(lease.job), at));
    }
    for (const EndedLease& lease : decisions->expired) {
      JobEntry& job = *state_.FindJob(lease.job);
      GYRE_RETURN_IF_ERROR(EndAttempt(
          job, Lost("its worker was silent for longer than its lease and the grace after it"), at));
    }
    for (const EndedLease& lease : decisions->timed_out) {
      state_.FindJob(lease.job)->live->timed_out = true;
    }
    for (const int64_t worker : decisions->gone) {
      GYRE_RETURN_IF_ERROR(MarkGone(*state_.FindWorker(worker), at));
    }
    for (const Grant& grant : decisions->grants) {
      GYRE_RETURN_IF_ERROR(GrantJob(grant.offer, grant.job, at));
    }
    for (const int64_t offer : decisions->unanswered) offers_.at(offer).settled = true;
  } while (decisions->ChangesLeases());
  return OkStatus();
}

void Coordinator::SettleOffers(bool committed) {
  for (auto offer = offers_.begin(); offer != offers_.end();) {
    Offer& o = offer->second;
    if (committed && o.settled) o.answer(o.lease);
    const bool over = committed ? o.settled : o.is_new;
    if (!committed) {
      o.settled = false;
      o.lease.reset();
    }
    o.is_new = false;
    offer = over ? offers_.erase(offer) : std::next(offer);
  }
}

void Coordinator::ReleaseOffers() {
  for (auto& [id, offer] : offers_) offer.answer(std::nullopt);
  offers_.clear();
}

}  // namespace gyre
