// The world: time, network, disk, the coordinator's process, and a person.

#include "tests/coordinator/simulation.h"

#include <algorithm>
#include <utility>

#include "coordinator/store/backup.h"
#include "tests/coordinator/harness.h"

namespace gyre {
namespace {

constexpr int kVariants = 4, kSeeds = 2;
constexpr int64_t kJobs = kVariants * kSeeds;
constexpr Millis kFaultsUntil{90'000};
constexpr Millis kTooLate{1'000'000};
constexpr Millis kCallTimeout{2000};

std::optional<StopEarlyRule> RuleOf(uint64_t seed) {
  if (seed % 3 == 0) return std::nullopt;
  return StopEarlyRule{
      .rule = seed % 3 == 1 ? "asha" : "median", .metric = "m", .grace = 20, .reduction = 2};
}

}  // namespace

Simulation::Simulation(uint64_t seed, std::filesystem::path folder)
    : random_(seed),
      database_(folder / "results.db"),
      backup_(folder / "backup.db"),
      rule_(RuleOf(seed)) {
  disk_.Heal();
  disk_.RememberWrites();
}

Simulation::~Simulation() { disk_.Heal(); }

bool Simulation::Chance(double probability) {
  return now_ < kFaultsUntil && std::uniform_real_distribution<>(0, 1)(random_) < probability;
}

Millis Simulation::Between(int64_t low, int64_t high) {
  return Millis(std::uniform_int_distribution<int64_t>(low, high)(random_));
}

Moment Simulation::Now() const { return {now_ + boot_, kWallStart + now_ + wall_skew_}; }

std::string Simulation::Run() {
  StartCoordinator();
  Submit();
  workers_.resize(static_cast<size_t>(Between(1, 4).count()));
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    workers_[static_cast<size_t>(i)].name = "w" + std::to_string(i);
    StartWorker(i);
  }
  After(Between(100, 5000), [this] { Faults(); });
  After(Between(100, 5000), [this] { Person(); });
  After(kFaultsUntil - now_, [this] { EndOfFaults(); });
  while (failure_.empty() && now_ < kTooLate && !AllEnded()) {
    const Happening next = happenings_.top();
    happenings_.pop();
    now_ = next.at;
    next.happen();
    CheckStep();
  }
  if (failure_.empty() && now_ >= kTooLate) Fail("the sweep does not end " + why_not_started_);
  if (failure_.empty()) CheckEnd();
  return failure_;
}

void Simulation::Submit() {
  PreparedSubmission submission;
  submission.sweeps = {MakeSweep("s", kVariants, kSeeds)};
  PreparedSweep& sweep = submission.sweeps[0];
  sweep.jobs[kVariants + 1].twin_of = kVariants;
  sweep.record.retry_backoff_ms = 1000;
  sweep.record.stop_early = rule_;
  for (PreparedVariant& variant : sweep.variants) variant.tokens_budget = kSimulatedSteps * 10;
  (void)Ask([&](const Moment& at) -> Status {
    GYRE_ASSIGN_OR_RETURN(const auto replies, coordinator_->Submit(submission, at));
    if (replies.front().id != 1 || replies.front().jobs != kJobs) Fail("another sweep came of it");
    return OkStatus();
  });
}

void Simulation::Fail(const std::string& what) {
  if (failure_.empty()) failure_ = "at " + std::to_string(now_.count()) + " ms: " + what;
}

void Simulation::After(Millis delay, std::function<void()> happen) {
  happenings_.push({now_ + delay, ++order_, std::move(happen)});
}

// The coordinator's process.

void Simulation::Execute(const std::vector<Call>& calls) {
  const std::optional<Millis> next = coordinator_->Execute(calls, Now());
  // Waking up once too often is harmless, so nothing is ever taken back.
  if (next) CommitSoon(std::max(*next - Now().now, Millis(1)));
}

void Simulation::TakeIn(Call call) {
  inbox_.push_back(std::move(call));
  if (!std::exchange(commits_soon_, true)) CommitSoon(Between(0, 10));
}

void Simulation::CommitSoon(Millis delay) {
  After(delay, [this] {
    if (coordinator_ == nullptr) return;
    if (busy_until_ > now_) return CommitSoon(busy_until_ - now_);
    commits_soon_ = false;
    const std::vector<Call> calls = std::exchange(inbox_, {});
    std::vector<Call> mine, to_the_former;
    for (const Call& call : calls) {
      (former_ != nullptr && Chance(0.3) ? to_the_former : mine).push_back(call);
    }
    if (!to_the_former.empty()) ExecuteOnFormer(std::move(to_the_former));
    Execute(mine);
  });
}

// It does not know that it is not the coordinator any more, and finds out by each call.
void Simulation::ExecuteOnFormer(std::vector<Call> calls) {
  for (Call& call : calls) {
    call.done = [this, done = std::move(call.done)](const Status& status) {
      if (status.code() != StatusCode::kUnavailable) {
        Fail("a coordinator that another one has replaced answers " + status.ToString());
      }
      done(status);
    };
  }
  std::swap(coordinator_, former_);
  (void)coordinator_->Execute(calls, Now());
  std::swap(coordinator_, former_);
}

void Simulation::StartCoordinator() {
  if (coordinator_ != nullptr) return;
  const auto open = [&]() -> Result<std::unique_ptr<Coordinator>> {
    GYRE_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Store::Open(database_));
    return Coordinator::Open(std::move(store), {}, nullptr, Now());
  };
  Result<std::unique_ptr<Coordinator>> coordinator = open();
  if (!coordinator.ok()) {
    // It exits, and is started again.
    why_not_started_ = coordinator.status().ToString();
    return After(Millis(1000), [this] { StartCoordinator(); });
  }
  why_not_started_.clear();
  coordinator_ = *std::move(coordinator);
  ++starts_;
  checked_writes_ = -1;
  Execute({});
}

void Simulation::KillCoordinator(bool power_fails) {
  disk_.Kill();
  coordinator_.reset();
  if (power_fails) {
    ++happened["power failures"];
    former_.reset();
    disk_.CutPower(&random_);
    boot_ = Between(0, 1'000'000) - now_;
  }
  disk_.Revive();
  inbox_.clear();
  commits_soon_ = false;
  busy_until_ = Millis(0);
}

void Simulation::StartSecondCoordinator() {
  ++happened["second coordinators"];
  former_ = std::move(coordinator_);
  inbox_.clear();
  commits_soon_ = false;
  // Somebody has tidied up.
  std::filesystem::remove(database_.string() + ".lock");
  StartCoordinator();
  After(Between(1000, 20'000), [this] { former_.reset(); });
}

void Simulation::BackUp() {
  if (!BackUpDatabase(database_, backup_, /*force=*/true).ok()) return;
  ++happened["backups"];
  has_backup_ = true;
  promises_at_backup_ = promises_;
  objects_at_backup_ = objects_;
  event_at_backup_ = checked_event_;
}

void Simulation::Restore() {
  KillCoordinator(/*power_fails=*/false);
  former_.reset();
  After(Between(10, 5000), [this] { StartCoordinator(); });
  if (!RestoreDatabase(backup_, database_, /*force=*/true).ok()) return;
  ++happened["restores"];
  ++timelines_;
  promises_ = promises_at_backup_;
  objects_.insert(objects_at_backup_.begin(), objects_at_backup_.end());
  checked_event_ = event_at_backup_;
  heard_.clear();
}

// What goes wrong.

void Simulation::Faults() {
  if (now_ >= kFaultsUntil) return;
  After(Between(500, 12'000), [this] { Faults(); });
  const int victim = static_cast<int>(Dice(static_cast<int64_t>(workers_.size())));
  FakeWorker& worker = workers_[static_cast<size_t>(victim)];
  const int64_t fault = Dice(13);
  if (coordinator_ == nullptr && fault >= 6) return;
  switch (fault) {
    case 0:
    case 1:
      ++happened["deaths"];
      KillWorker(victim);
      return After(Between(10, 20'000), [this, victim] { StartWorker(victim); });
    case 2:
      return CutOff(victim);
    case 3:
      ++happened["stops"];
      worker.stopped_until = now_ + Between(1000, 40'000);
      return;
    case 4:
      ++happened["full disks"];
      disk_.SetFull(true);
      return After(Between(100, 10'000), [this] { disk_.SetFull(false); });
    case 5:
      ++happened["disk errors"];
      return disk_.FailAt(Between(1, 60).count(), Between(1, 5).count());
    case 6:
    case 7:
      ++happened["restarts"];
      KillCoordinator(/*power_fails=*/Dice(3) == 0);
      return After(Between(10, 15'000), [this] { StartCoordinator(); });
    case 8:
      ++happened["busy coordinators"];
      busy_until_ = now_ + Between(1000, 40'000);
      return;
    case 9:
      ++happened["clocks set"];
      wall_skew_ = Between(-400, 400) * 86'400'000 / (Dice(2) == 0 ? 1 : 100'000);
      return;
    case 10:
      return StartSecondCoordinator();
    case 11:
      return BackUp();
    default:
      if (has_backup_ && Dice(2) == 0) return Restore();
      return BackUp();
  }
}

void Simulation::CutOff(int victim) {
  ++happened["cuts"];
  const int64_t direction = Dice(3);
  const bool all = Dice(4) == 0;
  const Millis until = now_ + Between(1000, 40'000);
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    if (!all && i != victim) continue;
    if (direction != 1) workers_[static_cast<size_t>(i)].not_heard_until = until;
    if (direction != 0) workers_[static_cast<size_t>(i)].hears_nothing_until = until;
  }
}

void Simulation::EndOfFaults() {
  disk_.Heal();
  former_.reset();
  busy_until_ = now_;
}

// The person.

bool Simulation::Ask(Run_ run) {
  if (coordinator_ == nullptr || busy_until_ > now_) return false;
  Status answer = Internal("no answer");
  Execute({{std::move(run), [&](const Status& status) { answer = status; }}});
  return answer.ok();
}

void Simulation::Person() {
  if (now_ >= kFaultsUntil) return WantAll();
  After(Between(500, 10'000), [this] { Person(); });
  const Target job{"", Between(1, kJobs).count()};
  const Target target = Dice(2) == 0 ? Target{"s"} : job;
  const auto change = [&](auto call) {
    return Ask([this, call, target](const Moment& at) {
      return (coordinator_.get()->*call)(target, at).status();
    });
  };
  switch (Dice(8)) {
    case 0:
    case 1:
      happened["pauses"] += change(&Coordinator::Pause);
      return;
    case 2:
    case 3:
      happened["retries"] += change(&Coordinator::Retry);
      return;
    case 4:
      happened["cancels"] += Ask([this, target](const Moment& at) {
        return target.job > 0 ? coordinator_->CancelJob(target.job, at).status()
                              : coordinator_->CancelSweep(target.sweep, at).status();
      });
      return;
    case 5:
      return Submit();
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

// The network.

void Simulation::Later(const Thread& thread, Millis delay, std::function<void()> happen) {
  After(delay, [this, thread, happen = std::move(happen)] {
    if (!IsAlive(thread)) return;
    const Millis stopped_until = Of(thread).stopped_until;
    stopped_until > now_ ? Later(thread, stopped_until - now_, happen) : happen();
  });
}

void Simulation::Send(const Thread& thread, const Message& message) {
  const auto answered = std::make_shared<bool>(false);
  const auto reply = [this, thread, answered, answer = message.answer](const Status& status) {
    if (Chance(0.04) || Of(thread).hears_nothing_until > now_) return;
    Later(thread, Between(0, 20), [=] {
      if (!std::exchange(*answered, true)) answer(status);
    });
  };
  const int copies = Chance(0.04) ? 0 : Chance(0.04) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    const Millis delay = Chance(0.04) ? Between(500, 8000) : Between(0, 20);
    // Sent is sent: it arrives also if its sender has died since. What has been on its way for
    // longer than a call waits was sent over a connection, which ends with the other end.
    After(delay, [=, this, start = starts_] {
      const bool arrives = delay <= kCallTimeout || start == starts_;
      if (coordinator_ == nullptr || !arrives || Of(thread).not_heard_until > now_) return;
      if (message.at_once) {
        if (const std::optional<Status> status = message.at_once()) return reply(*status);
      }
      TakeIn({message.run, [=](const Status& status) {
                if (message.committed) message.committed(status);
                reply(status);
              }});
    });
  }
  Later(thread, kCallTimeout, [answered, answer = message.answer] {
    if (!std::exchange(*answered, true)) answer(DeadlineExceeded("no answer"));
  });
}

void Simulation::Insist(const Thread& thread, const Message& message) {
  Message once = message;
  once.answer = [=, this](const Status& status) {
    if (status.code() == StatusCode::kDeadlineExceeded ||
        status.code() == StatusCode::kUnavailable) {
      Later(thread, Between(100, 1000), [=, this] { Insist(thread, message); });
    } else {
      message.answer(status);
    }
  };
  Send(thread, once);
}

}  // namespace gyre
