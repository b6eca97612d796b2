// What workers do.

#include <utility>

#include "proto/protocol.h"
#include "tests/coordinator/simulation.h"

namespace gyre {
namespace {

StatisticsRecord StatisticsOf(int64_t job, int64_t step) {
  StatisticsRecord record{.step = step, .tokens = step * 10};
  for (const int head : {0, 1}) record.head_scores.push_back({0, head, SimulatedValue(job, step)});
  return record;
}

}  // namespace

bool Simulation::IsAlive(const Thread& thread) {
  const FakeWorker& worker = Of(thread);
  return worker.generation == thread.generation &&
         (thread.attempt == 0 || (thread.attempt == worker.attempts && worker.lease.job_id != 0));
}

std::string Simulation::Incarnation(const Thread& thread) {
  return Of(thread).name + "-" + std::to_string(thread.generation);
}

AttemptRef Simulation::Ref(const Thread& thread) {
  const LeaseReply& lease = Of(thread).lease;
  return {lease.job_id, lease.attempt, Incarnation(thread), lease.epoch};
}

void Simulation::KillWorker(int worker) {
  FakeWorker& w = workers_[static_cast<size_t>(worker)];
  ++w.generation;
  w.registered = false;
  w.stopped_until = Millis(0);
  const bool leaves = w.lease.job_id != 0 && Dice(2) == 0;
  if (leaves) w.left = w.lease;
  Drop(w);
}

void Simulation::StartWorker(int worker) {
  KillWorker(worker);
  Register(Agent(worker));
  Beat(Agent(worker));
  AskForWork(Agent(worker));
}

void Simulation::Register(const Thread& agent) {
  RegisterCall call;
  call.name = Of(agent).name;
  call.incarnation = Incarnation(agent);
  call.protocol = kProtocolVersion;
  call.slots = call.cpus = 1;
  if (const auto& left = Of(agent).left) {
    const auto outcome =
        Of(agent).succeeded ? std::optional(AttemptOutcome::kSucceeded) : std::nullopt;
    call.left.push_back({{left->job_id, left->attempt, "", left->epoch}, Of(agent).step, outcome});
  }
  const auto reply = std::make_shared<RegisterReply>();
  const auto run = [this, call, reply](const Moment& at) -> Status {
    GYRE_ASSIGN_OR_RETURN(*reply, coordinator_->Register(call, at));
    return OkStatus();
  };
  const auto answer = [this, agent, reply](const Status& status) {
    if (!status.ok()) return Fail("a live worker is refused: " + status.ToString());
    Of(agent).registered = true;
    if (reply->left.empty() || !Of(agent).left) return;
    if (reply->left[0] == WorkerDesire::kContinue) return Reattach(agent);
    Of(agent).left.reset();
  };
  Insist(agent, {run, answer});
}

// What the process before had to say, and then its end.
void Simulation::Reattach(const Thread& agent) {
  ++happened["reattached"];
  FakeWorker& worker = Of(agent);
  worker.lease = *std::exchange(worker.left, std::nullopt);
  worker.delivers = true;
  const Thread thread{agent.worker, agent.generation, ++worker.attempts};
  worker.step > worker.reported ? Report(thread) : Train(thread);
}

void Simulation::Beat(const Thread& agent) {
  Later(agent, Millis(3000), [this, agent] { Beat(agent); });
  const FakeWorker& worker = Of(agent);
  if (!worker.registered) return;
  HeartbeatCall call{Incarnation(agent), {}};
  if (worker.lease.job_id != 0) {
    call.held.push_back({.job = worker.lease.job_id,
                         .number = worker.lease.attempt,
                         .progress = {worker.step, worker.step * 10, 1, 1},
                         .epoch = worker.lease.epoch});
    if (worker.succeeded) call.held[0].outcome = AttemptOutcome::kSucceeded;
  }
  const auto desires = std::make_shared<HeartbeatReply>();
  const auto heard = [this, call, desires] {
    if (desires->empty() || desires->front() == WorkerDesire::kDrop) return;
    Heard({call.held[0].job, call.held[0].number, "", ""});
  };
  Message message;
  if (Dice(2) == 0) {
    message.at_once = [this, call, desires, heard]() -> std::optional<Status> {
      const auto known = coordinator_->board().Beat(call, Now().now);
      if (!known) return std::nullopt;
      *desires = *known;
      heard();
      CommitSoon(Millis(1));
      return OkStatus();
    };
  }
  message.run = [this, call, desires](const Moment& at) -> Status {
    GYRE_ASSIGN_OR_RETURN(*desires, coordinator_->Heartbeat(call, at));
    return OkStatus();
  };
  message.committed = [heard](const Status& status) {
    if (status.ok()) heard();
  };
  message.answer = [this, agent, call, desires](const Status& status) {
    if (status.code() == StatusCode::kNotFound && std::exchange(Of(agent).registered, false)) {
      Register(agent);
    }
    // It is told that it was replaced, and ends; somebody starts it again.
    if (status.code() == StatusCode::kFailedPrecondition) return StartWorker(agent.worker);
    if (status.ok() && !desires->empty()) Obey(agent, call.held[0], desires->front());
  };
  Send(agent, message);
}

void Simulation::Obey(const Thread& agent, const HeldAttempt& held, WorkerDesire desire) {
  FakeWorker& worker = Of(agent);
  if (worker.lease.job_id != held.job || worker.lease.attempt != held.number ||
      worker.lease.epoch != held.epoch) {
    return;
  }
  if (desire == WorkerDesire::kDrop) Drop(worker);
  if (desire == WorkerDesire::kStop) worker.stop = true;
}

void Simulation::AskForWork(const Thread& agent) {
  if (!Of(agent).registered || Of(agent).lease.job_id != 0) {
    return Later(agent, Between(200, 1000), [this, agent] { AskForWork(agent); });
  }
  const AcquireCall call{Incarnation(agent), Millis(1000), 1, 1, 0};
  const int64_t offer = ++offers_;
  const auto answered = std::make_shared<bool>(false);
  const auto answer = [=, this](const std::optional<LeaseReply>& lease) {
    if (lease) TakeLease(*lease);
    if (Chance(0.04) || Of(agent).hears_nothing_until > now_) return;
    Later(agent, Between(0, 20), [=, this] {
      if (std::exchange(*answered, true)) return;
      if (lease) Begin(agent, *lease);
      Later(agent, Between(10, 200), [this, agent] { AskForWork(agent); });
    });
  };
  const auto run = [=, this](const Moment& at) {
    return coordinator_->Acquire(offer, call, answer, at);
  };
  Send(agent, {run, [](const Status&) {}});
  Later(agent, Millis(2000), [=, this] {
    if (!std::exchange(*answered, true)) AskForWork(agent);
  });
}

void Simulation::Begin(const Thread& agent, const LeaseReply& lease) {
  FakeWorker& worker = Of(agent);
  worker.lease = lease;
  worker.step = worker.reported = lease.checkpoint_step;
  worker.sequence = 0;
  worker.stop = worker.succeeded = worker.delivers = false;
  const Thread thread{agent.worker, agent.generation, ++worker.attempts};
  Later(thread, Between(100, 3000), [this, thread] { Train(thread); });
}

void Simulation::Train(const Thread& thread) {
  FakeWorker& worker = Of(thread);
  if (worker.delivers) {
    return Finish(thread, worker.succeeded ? AttemptOutcome::kSucceeded : AttemptOutcome::kLost,
                  worker.succeeded ? "" : "it ended");
  }
  if (worker.stop) return Finish(thread, AttemptOutcome::kStopped);
  if (Chance(0.02)) return Finish(thread, AttemptOutcome::kFailed, "out of luck", "INTERNAL");
  if (Chance(0.02)) {
    ++happened["memory failures"];
    return Finish(thread, AttemptOutcome::kFailed, "no more memory", "RESOURCE_EXHAUSTED");
  }
  if (worker.step == kSimulatedSteps) {
    return Save(thread, true, [=, this] { Finish(thread, AttemptOutcome::kSucceeded); });
  }
  ++worker.step;
  if (worker.step < kSimulatedSteps && Chance(0.2)) ++worker.step;  // two in one batch
  Report(thread);
}

void Simulation::Report(const Thread& thread) {
  FakeWorker& worker = Of(thread);
  ReportPointsCall call;
  call.attempt = Ref(thread);
  call.sequence = worker.sequence + 1;
  call.fingerprint = "cpu";
  const int64_t job = call.attempt.job;
  for (int64_t step = worker.reported + 1; step <= worker.step; ++step) {
    call.points.push_back({"m", step, step * 10, SimulatedValue(job, step)});
    if (step % 2 == 0) call.statistics.push_back(StatisticsOf(job, step));
  }
  const auto committed = [this, call](const Status& status) {
    if (!status.ok()) return;
    Heard(call.attempt);
    for (const PointRecord& point : call.points) {
      promises_.points.insert({call.attempt.job, point.step});
    }
  };
  const auto answer = [=, this](const Status& status) {
    if (status.code() == StatusCode::kFailedPrecondition) {
      return ++happened["refused"], Drop(Of(thread));
    }
    if (!status.ok()) return Fail("points: " + status.ToString());
    Of(thread).sequence = call.sequence;
    Of(thread).reported = Of(thread).step;
    const auto go_on = [=, this] {
      Later(thread, Between(100, 3000), [=, this] { Train(thread); });
    };
    return Of(thread).step % 2 == 0 ? Save(thread, false, go_on) : go_on();
  };
  Insist(thread,
         {[this, call](const Moment& at) { return RunReport(call, at); }, answer, committed});
}

// With the whole file before it, as memory is when it is judged whether to stop.
Status Simulation::RunReport(const ReportPointsCall& call, const Moment& at) {
  const std::string attempt = "job_id = " + std::to_string(call.attempt.job) +
                              " AND number = " + std::to_string(call.attempt.number);
  const int64_t before = Count("SELECT last_sequence FROM attempts WHERE " + attempt);
  const bool was_stopping = !StopReason(call.attempt.job).empty();
  GYRE_RETURN_IF_ERROR(coordinator_->ReportPoints(call, at).status());
  if (before < call.sequence) CheckEarlyStop(call.attempt.job, was_stopping);
  return OkStatus();
}

void Simulation::Save(const Thread& thread, bool weights_only, std::function<void()> then) {
  const FakeWorker& worker = Of(thread);
  ReportCheckpointCall call;
  call.attempt = Ref(thread);
  call.step = worker.step;
  call.tokens = worker.step * 10;
  call.hash = "object-" + std::to_string(call.attempt.job) + (weights_only ? "-weights-" : "-") +
              std::to_string(worker.step);
  call.weights_only = weights_only;
  call.sequence = worker.sequence;
  objects_.insert(call.hash);
  const auto obsolete = std::make_shared<ObsoleteObjects>();
  const auto timeline = std::make_shared<int>(0);
  const auto run = [=, this](const Moment& at) -> Status {
    *timeline = timelines_;
    GYRE_ASSIGN_OR_RETURN(*obsolete, coordinator_->ReportCheckpoint(call, at));
    return OkStatus();
  };
  const auto answer = [=, this](const Status& status) {
    if (status.code() == StatusCode::kFailedPrecondition) {
      return ++happened["refused"], Drop(Of(thread));
    }
    if (!status.ok()) return Fail("checkpoint: " + status.ToString());
    if (*timeline == timelines_) {
      for (const std::string& hash : *obsolete) objects_.erase(hash);
    }
    then();
  };
  Insist(thread, {run, answer, [this, call](const Status& status) {
                    if (status.ok()) Heard(call.attempt);
                  }});
}

void Simulation::Finish(const Thread& thread, AttemptOutcome outcome, const std::string& error,
                        const std::string& code) {
  FakeWorker& worker = Of(thread);
  worker.succeeded = outcome == AttemptOutcome::kSucceeded;
  FinishAttemptCall call;
  call.attempt = Ref(thread);
  call.outcome = outcome;
  call.last_sequence = worker.sequence;
  call.error = error;
  call.error_code = code;
  call.wants_next = worker.succeeded && !worker.delivers && Dice(2) == 0;
  const auto next = std::make_shared<std::optional<LeaseReply>>();
  const auto run = [=, this](const Moment& at) {
    next->reset();  // each answer has its own
    const auto granted = [this, next](const std::optional<LeaseReply>& lease) {
      if (lease) TakeLease(*lease);
      *next = lease;
    };
    return coordinator_->FinishAttempt(call, ++offers_, granted, at).status();
  };
  const auto answer = [=, this](const Status& status) {
    if (!status.ok() && status.code() != StatusCode::kFailedPrecondition) {
      return Fail("finish: " + status.ToString());
    }
    Drop(Of(thread));
    if (!status.ok() || !*next) return;
    ++happened["next leases"];
    Begin({thread.worker, thread.generation, 0}, **next);
  };
  Insist(thread, {run, answer, [this, call](const Status& status) {
                    if (status.ok() && call.outcome == AttemptOutcome::kSucceeded) {
                      promises_.finished.insert(call.attempt.job);
                    }
                  }});
}

}  // namespace gyre
