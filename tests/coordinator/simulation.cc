#include "tests/coordinator/simulation.h"

#include <algorithm>
#include <utility>

#include "proto/protocol.h"
#include "results/database.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

constexpr int64_t kSteps = 6;
constexpr int64_t kJobs = 6;
constexpr Millis kFaultsUntil{90'000};
constexpr Millis kTooLate{1'000'000};
constexpr Millis kCallTimeout{2000};

double Value(int64_t job, int64_t step) { return 1.0 / static_cast<double>(job * 100 + step + 1); }

StatisticsRecord StatisticsOf(int64_t job, int64_t step) {
  StatisticsRecord record{.step = step, .tokens = step * 10};
  for (const int head : {0, 1}) record.head_scores.push_back({0, head, Value(job, step)});
  return record;
}

}  // namespace

Simulation::Simulation(uint64_t seed, std::filesystem::path database)
    : random_(seed), database_(std::move(database)) {}

bool Simulation::Chance(double probability) {
  return now_ < kFaultsUntil && std::uniform_real_distribution<>(0, 1)(random_) < probability;
}

Millis Simulation::Between(int64_t low, int64_t high) {
  return Millis(std::uniform_int_distribution<int64_t>(low, high)(random_));
}

std::string Simulation::Run() {
  StartCoordinator();
  PreparedSubmission submission;
  submission.sweeps = {MakeSweep("s", 3, 2)};
  submission.sweeps[0].jobs[4].twin_of = 3;
  submission.sweeps[0].record.retry_backoff_ms = 1000;
  Execute({{[&](const Moment& at) { return coordinator_->Submit(submission, at).status(); },
            [&](const Status& status) {
              if (!status.ok()) Fail("submit: " + status.ToString());
            }}});
  workers_.resize(static_cast<size_t>(Between(1, 4).count()));
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    workers_[static_cast<size_t>(i)].name = "w" + std::to_string(i);
    StartWorker(i);
  }
  After(Between(100, 5000), [this] { Faults(); });
  After(Between(100, 5000), [this] { Person(); });
  while (failure_.empty() && now_ < kTooLate && !AllEnded()) {
    const Happening next = happenings_.top();
    happenings_.pop();
    now_ = next.at;
    next.happen();
    CheckStep();
  }
  if (failure_.empty()) CheckEnd();
  return failure_;
}

void Simulation::Fail(const std::string& what) {
  if (failure_.empty()) failure_ = "at " + std::to_string(now_.count()) + " ms: " + what;
}

void Simulation::After(Millis delay, std::function<void()> happen) {
  happenings_.push({now_ + delay, ++order_, std::move(happen)});
}

void Simulation::Execute(const std::vector<Call>& calls) {
  const std::optional<Millis> next = coordinator_->Execute(calls, Now());
  if (!next) return;
  // Waking up once too often is harmless, so nothing is ever taken back.
  After(std::max(*next - now_, Millis(1)), [this] {
    if (coordinator_ != nullptr) (void)coordinator_->Execute({}, Now());
  });
}

void Simulation::StartCoordinator() {
  Result<std::unique_ptr<Store>> store = Store::Open(database_);
  if (!store.ok()) return Fail(store.status().ToString());
  Result<std::unique_ptr<Coordinator>> coordinator =
      Coordinator::Open(*std::move(store), {}, nullptr, Now());
  if (!coordinator.ok()) return Fail(coordinator.status().ToString());
  coordinator_ = *std::move(coordinator);
  Execute({});
}

void Simulation::Faults() {
  if (now_ >= kFaultsUntil) return;
  After(Between(500, 12'000), [this] { Faults(); });
  const int victim =
      static_cast<int>(Between(0, static_cast<int64_t>(workers_.size()) - 1).count());
  switch (Between(0, 3).count()) {
    case 0:
      if (coordinator_ == nullptr) return;
      ++restarts;
      coordinator_.reset();
      return After(Between(10, 15'000), [this] { StartCoordinator(); });
    case 1:
      ++deaths;
      KillWorker(victim);
      return After(Between(10, 20'000), [this, victim] { StartWorker(victim); });
    case 2:
      ++cuts;
      workers_[static_cast<size_t>(victim)].cut_off_until = now_ + Between(1000, 20'000);
      return;
    default: {
      // No page more than there are: writes fail as on a full disk.
      if (coordinator_ == nullptr) return;
      ++full_disks;
      (void)coordinator_->store().database().Execute("PRAGMA max_page_count=1");
      return After(Between(100, 10'000), [this] {
        if (coordinator_ == nullptr) return;
        (void)coordinator_->store().database().Execute("PRAGMA max_page_count=1000000");
      });
    }
  }
}

bool Simulation::Ask(Run_ run) {
  if (coordinator_ == nullptr) return false;
  Status answer = Internal("no answer");
  Execute({{std::move(run), [&](const Status& status) { answer = status; }}});
  return answer.ok();
}

void Simulation::Person() {
  if (now_ >= kFaultsUntil) return WantAll();
  After(Between(500, 10'000), [this] { Person(); });
  const Target job{"", Between(1, kJobs).count()};
  const Target target = Between(0, 1).count() == 0 ? Target{"s"} : job;
  const auto change = [&](auto call) {
    return Ask([this, call, target](const Moment& at) {
      return (coordinator_.get()->*call)(target, at).status();
    });
  };
  switch (Between(0, 3).count()) {
    case 0:
      pauses += change(&Coordinator::Pause) ? 1 : 0;
      return;
    case 1:
      retried += change(&Coordinator::Retry) ? 1 : 0;
      return;
    default:
      (void)change(&Coordinator::Resume);
  }
}

// Until it is heard; and again if the sweep has paused itself since.
void Simulation::WantAll() {
  After(Millis(1000), [this] { WantAll(); });
  if (wants_all_ && !Ask([this](const Moment&) -> Status {
        GYRE_ASSIGN_OR_RETURN(const SweepReply sweep, coordinator_->GetSweep("s"));
        return sweep.sweep.intent == SweepIntent::kPaused ? OkStatus() : NotFound("it goes on");
      })) {
    return;
  }
  wants_all_ |= Ask([this](const Moment& at) { return coordinator_->Retry({"s"}, at).status(); });
}

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

void Simulation::Later(const Thread& thread, Millis delay, std::function<void()> happen) {
  After(delay, [this, thread, happen = std::move(happen)] {
    if (IsAlive(thread)) happen();
  });
}

void Simulation::Send(const Thread& thread, Run_ run, Answer answer) {
  const auto answered = std::make_shared<bool>(false);
  const auto reply = [this, thread, answered, answer](const Status& status) {
    if (Chance(0.04) || Of(thread).cut_off_until > now_) return;
    Later(thread, Between(0, 20), [=] {
      if (!std::exchange(*answered, true)) answer(status);
    });
  };
  const int copies = Chance(0.04) ? 0 : Chance(0.04) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    // Sent is sent: it arrives also if its sender has died since.
    After(Chance(0.04) ? Between(500, 8000) : Between(0, 20), [this, thread, run, reply] {
      if (coordinator_ != nullptr && Of(thread).cut_off_until <= now_) Execute({{run, reply}});
    });
  }
  Later(thread, kCallTimeout, [answered, answer] {
    if (!std::exchange(*answered, true)) answer(DeadlineExceeded("no answer"));
  });
}

void Simulation::Insist(const Thread& thread, Run_ run, Answer answer) {
  Send(thread, run, [=, this](const Status& status) {
    if (status.code() == StatusCode::kDeadlineExceeded ||
        status.code() == StatusCode::kUnavailable) {
      Later(thread, Between(100, 1000), [=, this] { Insist(thread, run, answer); });
    } else {
      answer(status);
    }
  });
}

void Simulation::KillWorker(int worker) {
  FakeWorker& w = workers_[static_cast<size_t>(worker)];
  ++w.generation;
  w.registered = false;
  const bool leaves = w.lease.job_id != 0 && Between(0, 1).count() == 0;
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
    call.left.push_back({{left->job_id, left->attempt, "", left->epoch}, Of(agent).step, {}});
  }
  const auto reply = std::make_shared<RegisterReply>();
  Insist(
      agent,
      [this, call, reply](const Moment& at) -> Status {
        GYRE_ASSIGN_OR_RETURN(*reply, coordinator_->Register(call, at));
        return OkStatus();
      },
      [this, agent, reply](const Status& status) {
        if (!status.ok()) return Fail("a live worker is refused: " + status.ToString());
        Of(agent).registered = true;
        if (reply->left.empty() || !Of(agent).left) return;
        if (reply->left[0] == WorkerDesire::kContinue) return Reattach(agent);
        Of(agent).left.reset();
      });
}

// What the process before had to say, and then its end.
void Simulation::Reattach(const Thread& agent) {
  ++reattached;
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
  }
  const auto desires = std::make_shared<HeartbeatReply>();
  const bool asks_board = Between(0, 1).count() == 0;
  Send(
      agent,
      [this, call, desires, asks_board](const Moment& at) -> Status {
        const auto known = asks_board ? coordinator_->board().Beat(call, at.now) : std::nullopt;
        if (known) return *desires = *known, OkStatus();
        GYRE_ASSIGN_OR_RETURN(*desires, coordinator_->Heartbeat(call, at));
        return OkStatus();
      },
      [this, agent, call, desires](const Status& status) {
        if (status.code() == StatusCode::kNotFound && std::exchange(Of(agent).registered, false)) {
          Register(agent);
        }
        if (status.ok() && !desires->empty()) Obey(agent, call.held[0], desires->front());
      });
}

void Simulation::Obey(const Thread& agent, const HeldAttempt& held, WorkerDesire desire) {
  FakeWorker& worker = Of(agent);
  if (worker.lease.job_id != held.job || worker.lease.attempt != held.number) return;
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
    if (Chance(0.04) || Of(agent).cut_off_until > now_) return;
    Later(agent, Between(0, 20), [=, this] {
      if (std::exchange(*answered, true)) return;
      if (lease) Begin(agent, *lease);
      Later(agent, Between(10, 200), [this, agent] { AskForWork(agent); });
    });
  };
  Send(
      agent, [=, this](const Moment& at) { return coordinator_->Acquire(offer, call, answer, at); },
      [](const Status&) {});
  Later(agent, kCallTimeout, [=, this] {
    if (!std::exchange(*answered, true)) AskForWork(agent);
  });
}

// A lease as it leaves the coordinator, whether or not it arrives.
void Simulation::TakeLease(const LeaseReply& lease) {
  int& newest = newest_attempt_[lease.job_id];
  if (lease.attempt <= newest) Fail("an attempt number was granted twice");
  newest = lease.attempt;
  if (finished_.contains(lease.job_id)) Fail("a finished job was granted");
  const Result<JobReply> job = coordinator_->GetJob(lease.job_id, Now());
  const Result<SweepReply> sweep = coordinator_->GetSweep("s");
  if (!job.ok() || !sweep.ok() || job->job.paused || sweep->sweep.intent == SweepIntent::kPaused) {
    Fail("a paused job was granted");
  }
  if (lease.checkpoint_hash.empty()) return;
  ++resumed;
  if (!objects_.contains(lease.checkpoint_hash))
    Fail("a checkpoint was called obsolete and is needed");
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
    ++memory_failures;
    return Finish(thread, AttemptOutcome::kFailed, "no more memory", "RESOURCE_EXHAUSTED");
  }
  if (worker.step == kSteps) {
    return Save(thread, true, [=, this] { Finish(thread, AttemptOutcome::kSucceeded); });
  }
  ++worker.step;
  if (worker.step < kSteps && Chance(0.2)) ++worker.step;  // two in one batch
  Report(thread);
}

void Simulation::Report(const Thread& thread) {
  FakeWorker& worker = Of(thread);
  ReportPointsCall call;
  call.attempt = Ref(thread);
  call.sequence = worker.sequence + 1;
  call.fingerprint = "cpu";
  for (int64_t step = worker.reported + 1; step <= worker.step; ++step) {
    call.points.push_back({"m", step, step * 10, Value(call.attempt.job, step)});
    if (step % 2 == 0) call.statistics.push_back(StatisticsOf(call.attempt.job, step));
  }
  Insist(
      thread,
      [this, call](const Moment& at) { return coordinator_->ReportPoints(call, at).status(); },
      [=, this](const Status& status) {
        if (status.code() == StatusCode::kFailedPrecondition) return ++refused, Drop(Of(thread));
        if (!status.ok()) return Fail("points: " + status.ToString());
        for (const PointRecord& point : call.points)
          acknowledged_.insert({call.attempt.job, point.step});
        Of(thread).sequence = call.sequence;
        Of(thread).reported = Of(thread).step;
        const auto go_on = [=, this] {
          Later(thread, Between(100, 3000), [=, this] { Train(thread); });
        };
        return Of(thread).step % 2 == 0 ? Save(thread, false, go_on) : go_on();
      });
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
  Insist(
      thread,
      [this, call, obsolete](const Moment& at) -> Status {
        GYRE_ASSIGN_OR_RETURN(*obsolete, coordinator_->ReportCheckpoint(call, at));
        return OkStatus();
      },
      [=, this](const Status& status) {
        if (status.code() == StatusCode::kFailedPrecondition) return ++refused, Drop(Of(thread));
        if (!status.ok()) return Fail("checkpoint: " + status.ToString());
        for (const std::string& hash : *obsolete) objects_.erase(hash);
        then();
      });
}

void Simulation::Finish(const Thread& thread, AttemptOutcome outcome, const std::string& error,
                        const std::string& code) {
  Of(thread).succeeded = outcome == AttemptOutcome::kSucceeded;
  FinishAttemptCall call;
  call.attempt = Ref(thread);
  call.outcome = outcome;
  call.last_sequence = Of(thread).sequence;
  call.error = error;
  call.error_code = code;
  Insist(
      thread,
      [this, call](const Moment& at) { return coordinator_->FinishAttempt(call, at).status(); },
      [=, this](const Status& status) {
        if (!status.ok() && status.code() != StatusCode::kFailedPrecondition) {
          return Fail("finish: " + status.ToString());
        }
        if (status.ok() && outcome == AttemptOutcome::kSucceeded)
          finished_.insert(call.attempt.job);
        Drop(Of(thread));
      });
}

bool Simulation::AllEnded() {
  if (coordinator_ == nullptr) return false;
  const Result<SweepReply> sweep = coordinator_->GetSweep("s");
  return sweep.ok() && sweep->jobs.queued + sweep->jobs.running == 0;
}

void Simulation::CheckStep() {
  if (coordinator_ == nullptr || coordinator_->store().writes() == checked_writes_) return;
  checked_writes_ = coordinator_->store().writes();
  if (const Status status = coordinator_->CheckInvariants(); !status.ok()) Fail(status.ToString());
}

// Each row that a point of a step with statistics has beside it, once, whatever became of the
// attempts that reported it.
void Simulation::CheckStatistics() {
  const Database& database = coordinator_->store().database();
  auto rows = database.Prepare("SELECT job_id, step, tokens, head, diagonal FROM head_scores");
  int64_t count = 0;
  for (; rows.ok() && *rows->Step(); ++count) {
    const int64_t job = rows->Int(0), step = rows->Int(1);
    if (step % 2 != 0 || rows->Int(2) != step * 10 || rows->Real(4) != Value(job, step)) {
      Fail("statistics are not what an undisturbed run gives");
    }
  }
  auto wanted = database.Prepare("SELECT 2 * count(*) FROM points WHERE step % 2 = 0");
  if (!wanted.ok() || !*wanted->Step() || wanted->Int(0) != count) {
    Fail("statistics and the points that came with them are not together");
  }
}

void Simulation::CheckEnd() {
  if (now_ >= kTooLate) return Fail("the sweep does not end");
  const Database& database = coordinator_->store().database();
  std::set<std::pair<int64_t, int64_t>> points;
  auto rows = database.Prepare("SELECT job_id, metric, step, tokens, value FROM points");
  while (rows.ok() && *rows->Step()) {
    const int64_t job = rows->Int(0), step = rows->Int(2);
    points.insert({job, step});
    if (rows->Text(1) != "m" || rows->Int(3) != step * 10 || rows->Real(4) != Value(job, step)) {
      Fail("a point is not what an undisturbed run gives");
    }
  }
  CheckStatistics();
  if (!std::includes(points.begin(), points.end(), acknowledged_.begin(), acknowledged_.end())) {
    Fail("an acknowledged point is missing");
  }
  auto jobs =
      database.Prepare("SELECT id, state, error FROM jobs WHERE reused_from IS NULL ORDER BY id");
  while (jobs.ok() && *jobs->Step()) {
    const int64_t job = jobs->Int(0);
    if (jobs->Text(1) == "SUCCEEDED") {
      for (int64_t step = 1; step <= kSteps; ++step) {
        if (!points.contains({job, step})) Fail("a finished job lacks a point");
      }
    } else if (finished_.contains(job) || jobs->Text(2).empty()) {
      Fail("job " + std::to_string(job) + " ended as " + jobs->Text(1) + ": " + jobs->Text(2));
    }
  }
  const auto count = [&](const char* kind) {
    auto found = database.Prepare("SELECT count(*) FROM events WHERE kind = ?");
    found->Bind(1, std::string(kind));
    return *found->Step() ? static_cast<int>(found->Int(0)) : 0;
  };
  suspected = count("attempt_suspected");
  back = count("attempt_back");
  auto memory = database.Prepare("SELECT count(*) FROM jobs WHERE memory_failures > 2");
  if (!memory.ok() || !*memory->Step() || memory->Int(0) != 0) {
    Fail("a job was tried again and again for want of memory");
  }
  auto strange = database.Prepare(
      "SELECT count(*) FROM events WHERE kind = 'nondeterminism' UNION ALL "
      "SELECT count(*) FROM (SELECT 1 FROM events WHERE kind = 'job_succeeded' GROUP BY job_id "
      "HAVING "
      "count(*) > 1) UNION ALL SELECT count(*) FROM attempts WHERE state IN ('LEASED', 'RUNNING')");
  while (strange.ok() && *strange->Step()) {
    if (strange->Int(0) != 0)
      Fail("nondeterminism, a job that succeeded twice, or an attempt that lives on");
  }
}

}  // namespace gyre
