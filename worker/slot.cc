#include "worker/slot.h"

#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/machine.h"
#include "worker/job_uploads.h"

namespace gyre {
namespace {

constexpr Millis kHelloTimeout{30000};
constexpr Millis kCommandTimeout{5000};
constexpr Millis kLogPatience{1000};

}  // namespace

Slot::Slot(SlotOptions options, CoordinatorClient& client)
    : options_(std::move(options)), client_(client), thread_([this] { Run(); }) {}

Slot::~Slot() {
  const MutexLock lock(mutex_);
  closing_ = true;
  AbandonLocked(/*keep=*/true);
  changed_.NotifyAll();
}

bool Slot::Free() const {
  const MutexLock lock(mutex_);
  return !lease_;
}

std::optional<Occupied> Slot::InUse() const {
  const MutexLock lock(mutex_);
  if (!lease_) return std::nullopt;
  return Occupied{lease_->device, lease_->gpus > 0, lease_->cpus};
}

std::string Slot::TrainerDevice() const {
  const MutexLock lock(mutex_);
  return trainer_ == nullptr ? "" : trainer_device_;
}

void Slot::LeaveDevice() {
  const MutexLock lock(mutex_);
  leaves_ = !lease_;
  changed_.NotifyAll();
}

std::optional<HeldLease> Slot::Held() const {
  const MutexLock lock(mutex_);
  if (!lease_) return std::nullopt;
  return HeldLease{lease_->attempt, progress_, outcome_};
}

std::string Slot::Problem() const {
  const MutexLock lock(mutex_);
  return uploader_ == nullptr ? "" : uploader_->Problem();
}

void Slot::Assign(Lease lease) {
  const MutexLock lock(mutex_);
  AssignLocked(std::move(lease));
}

void Slot::AssignLocked(Lease lease) {
  lease.cpus = std::max(1, lease.cpus);
  lease_ = std::move(lease);
  progress_ = {};
  outcome_.reset();
  stop_wanted_ = checkpoint_wanted_ = abandoned_ = trained_ = false;
  fetching_ = std::stop_source();
  changed_.NotifyAll();
}

void Slot::Obey(const LeaseDesire& desire) {
  const MutexLock lock(mutex_);
  if (!lease_ || lease_->attempt != desire.attempt) return;
  switch (desire.desire) {
    case Desire::kContinue:
      return;
    case Desire::kStop:
      return StopLocked();
    case Desire::kDrop:
      LogWarning(ToString(desire.attempt) + ": not ours any more, dropping it" +
                 (desire.why.empty() ? "" : " (" + desire.why + ")"));
      return AbandonLocked(/*keep=*/false);
    case Desire::kCheckpoint:
      if (training_ && !checkpoint_wanted_)
        checkpoint_wanted_ = trainer_->Say(kCheckpointCommand, Millis(0)).ok();
      return;
  }
}

void Slot::StopAttempt() {
  const MutexLock lock(mutex_);
  if (lease_) StopLocked();
}

void Slot::Abandon() {
  const MutexLock lock(mutex_);
  AbandonLocked(/*keep=*/true);
}

void Slot::StopLocked() {
  if (std::exchange(stop_wanted_, true)) return;
  fetching_.request_stop();
  kill_at_ = Clock::Real().Now() + options_.stop_grace;
  // If it doesn't read any more, its time ends as well.
  if (training_) (void)trainer_->Say(kStopCommand, Millis(0));
}

void Slot::AbandonLocked(bool keep) {
  if (!lease_) return;
  abandoned_ = true;
  fetching_.request_stop();
  if (uploader_ != nullptr) keep ? uploader_->Leave() : uploader_->Drop();
  // Word that it is over may come before the answer to our own report of its end.
  if (!trained_) KillLocked();
}

void Slot::KillLocked() {
  if (trainer_ != nullptr) trainer_->Kill();
  if (others_ != nullptr) others_->Kill();
}

void Slot::Run() {
  while (true) {
    std::optional<Lease> lease;
    {
      MutexLock lock(mutex_);
      changed_.Wait(mutex_, [&]() GYRE_REQUIRES(mutex_) { return lease_ || closing_ || leaves_; });
      lease = lease_;
      if (!std::exchange(leaves_, false) && !lease) break;
    }
    if (!lease) {
      EndTrainer();
      continue;
    }
    RunAttempt(*lease);
    {
      const MutexLock lock(mutex_);
      if (lease_->attempt == lease->attempt) lease_.reset();
    }
    if (options_.on_free) options_.on_free();
  }
  EndTrainer();
}

UploaderOptions Slot::Uploads(const AttemptId& attempt) {
  UploaderOptions uploads = UploadsOf(options_.files, attempt.job_id);
  uploads.on_unregistered = options_.on_unregistered;
  uploads.spool = std::make_shared<Spool>(options_.spools / SpoolFileName(attempt), attempt,
                                          options_.spool_bytes);
  uploads.on_ended = [this] {
    const MutexLock lock(mutex_);
    fetching_.request_stop();
    if (training_) KillLocked();
  };
  return uploads;
}

// After a failure, or with GPUs, what is free is looked at first.
bool Slot::WantsNext(const Lease& lease, const AttemptEnd& end) const {
  return end.outcome == Outcome::kSucceeded && lease.device == "cpu" && options_.may_go_on &&
         options_.may_go_on();
}

// At once, since heartbeats have to list it; whatever was wanted of the attempt before is not
// wanted of this one.
void Slot::GoOnWith(Lease next) {
  {
    const MutexLock lock(mutex_);
    if (closing_) return;  // the lease runs out
    AssignLocked(std::move(next));
  }
  // A worker that shuts down has perhaps stopped the attempt before.
  if (!options_.may_go_on()) StopAttempt();
}

void Slot::RunAttempt(const Lease& lease) {
  auto uploader = std::make_unique<Uploader>(lease.attempt, client_, Uploads(lease.attempt));
  Uploader* const reports = uploader.get();
  {
    const MutexLock lock(mutex_);
    uploader_ = std::move(uploader);
    if (abandoned_) uploader_->Drop();  // it has said nothing
  }
  const auto log = std::make_shared<LogSender>(lease.attempt, client_);
  log_ = log;
  AttemptEnd end = Train(lease);
  {
    const MutexLock lock(mutex_);
    trained_ = true;
    outcome_ = end.outcome;
  }
  if (trainer_ != nullptr) {
    trainer_->DrainLog();
    trainer_->EndOffspring();
    // What a failure has left of its context on a GPU may be of no use to any other job.
    if (end.outcome == Outcome::kFailed && lease.device != "cpu") EndTrainer();
  }
  EndOthers();
  if (end.error.code() == StatusCode::kUnavailable && lease.device != "cpu") options_.on_lost_gpu();
  // Before others hear of the end: the next job may want the whole machine.
  claim_ = ProcessorClaim();
  // Its last lines should be there when people hear of its end; a coordinator that is away gets
  // them when it has come back for the outcome.
  const bool logged = log->Finish(Abandoned() ? Millis(0) : kLogPatience);
  end.wants_next = WantsNext(lease, end);
  const Status reported = reports->Finish(end);
  if (auto next = reports->TakeNext()) GoOnWith(*std::move(next));
  if (logged || log->Finish(Abandoned() ? Millis(0) : kLogPatience)) {
    std::error_code error;
    std::filesystem::remove(LogPath(lease), error);
    for (int rank = 1; rank < WorldOf(lease); ++rank) {
      std::filesystem::remove(LogPathOfRank(LogPath(lease), rank), error);
    }
  }
  const std::string name = ToString(lease.attempt);
  if (!reported.ok()) {
    LogWarning(name + ": its end (" + std::string(OutcomeName(end.outcome)) +
               ") is not reported: " + reported.message());
  } else {
    LogInfo(name + ": " + std::string(OutcomeName(end.outcome)) +
            (end.error.ok() ? "" : ": " + end.error.ToString()));
  }
  {
    const MutexLock lock(mutex_);
    uploader = std::move(uploader_);
  }
  // Destroyed outside the lock: its thread may be waiting for it in on_ended.
  uploader.reset();
  options_.files->Ended(lease.attempt.job_id,
                        /*may_go_on=*/end.outcome != Outcome::kSucceeded || !reported.ok());
}

AttemptEnd Slot::Train(const Lease& lease) {
  LogInfo(ToString(lease.attempt) + ": " + lease.sweep + ", " + lease.variant +
          (lease.checkpoint_hash.empty() ? ""
                                         : ", from step " + std::to_string(lease.checkpoint_step)));
  std::stop_token stop;
  {
    const MutexLock lock(mutex_);
    stop = fetching_.get_token();
  }
  Status fetched = options_.files->Fetch(lease, stop);
  if (stop.stop_requested() || !fetched.ok()) return NotFetched(lease, std::move(fetched));
  memory_kills_ = OutOfMemoryKills();
  fingerprint_.clear();
  if (Status ready = Prepare(lease); !ready.ok()) {
    if (trainer_ != nullptr && ready.code() == StatusCode::kUnavailable) return EndOfTrainer(lease);
    EndTrainer();
    return {.outcome = Outcome::kFailed, .error = std::move(ready)};
  }
  if (Status started = StartOthers(lease); !started.ok()) {
    return {.outcome = Outcome::kFailed, .error = std::move(started)};
  }
  if (Status told = Command(lease); !told.ok()) {
    if (told.code() == StatusCode::kUnavailable) return EndOfTrainer(lease);
    return {.outcome = Outcome::kFailed, .error = std::move(told)};
  }
  {
    const MutexLock lock(mutex_);
    training_ = true;
    if (stop_wanted_) (void)trainer_->Say(kStopCommand, Millis(0));
  }
  return Follow(lease);
}

// Every rank gets the job. One that does not listen has failed, as will show.
Status Slot::Command(const Lease& lease) {
  RankPlace place{.world = WorldOf(lease)};
  if (rendezvous_) place.rendezvous = rendezvous_->path() / "ranks";
  const std::string home = options_.files->trainer_home();
  GYRE_ASSIGN_OR_RETURN(const std::string command, RunCommand(lease, home, place));
  const auto command_of = [&](int rank) {
    RankPlace other = place;
    other.rank = rank;
    return *RunCommand(lease, home, other);
  };
  if (others_ != nullptr) (void)others_->Run(command_of, kCommandTimeout);
  return trainer_->Say(command, kCommandTimeout);
}

AttemptEnd Slot::NotFetched(const Lease& lease, Status why) const {
  AttemptEnd end{.outcome = Outcome::kStopped, .step = lease.checkpoint_step};
  if (why.ok() || why.code() == StatusCode::kCancelled) return end;
  end.outcome = Outcome::kFailed;
  end.error = std::move(why);
  return end;
}

bool Slot::Abandoned() const {
  const MutexLock lock(mutex_);
  return abandoned_;
}

// The worker's own copy: until the coordinator has all of it.
std::filesystem::path Slot::LogPath(const Lease& lease) const {
  return options_.home / "logs" /
         ("job-" + std::to_string(lease.attempt.job_id) + "-attempt-" +
          std::to_string(lease.attempt.number) + ".log");
}

// Has a trainer ready for a job of the lease's size.
Status Slot::Prepare(const Lease& lease) {
  const std::filesystem::path path = LogPath(lease);
  if (Status made = MakeFolders(path.parent_path()); !made.ok()) LogWarning(made.message());
  auto log = std::make_unique<TrainerLog>(
      path, [sender = log_](std::string_view bytes) { sender->Append(bytes); });
  // One that was on another GPU would go on holding memory there. It is rank 0.
  const std::string device = lease.device.substr(0, lease.device.find(','));
  if (trainer_ != nullptr && trainer_->Running() && trainer_device_ == device) {
    trainer_->LogTo(std::move(log));
  } else {
    GYRE_RETURN_IF_ERROR(StartTrainer(std::move(log), device));
  }
  ChooseProcessors(lease);
  return OkStatus();
}

Status Slot::StartTrainer(std::unique_ptr<TrainerLog> log, const std::string& device) {
  EndTrainer();
  GYRE_ASSIGN_OR_RETURN(auto trainer, TrainerProcess::Start(options_.trainer, std::move(log)));
  {
    const MutexLock lock(mutex_);
    trainer_ = std::move(trainer);
    trainer_device_ = device;
    if (abandoned_) trainer_->Kill();
  }
  return trainer_->Greet(kHelloTimeout).status();
}

Status Slot::StartOthers(const Lease& lease) {
  const int world = WorldOf(lease);
  if (world == 1) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(auto folder, ScratchFolder::Create(options_.home, "ranks"));
  rendezvous_.emplace(std::move(folder));
  GYRE_ASSIGN_OR_RETURN(
      auto others,
      OtherRanks::Start(
          {.program = options_.trainer,
           .world = world,
           .log = LogPath(lease),
           .hand_on = [sender = log_](std::string_view bytes) { sender->Append(bytes); },
           .greeting = kHelloTimeout,
           .exit_grace = options_.exit_grace}));
  const MutexLock lock(mutex_);
  others_ = std::move(others);
  if (abandoned_) others_->Kill();
  return OkStatus();
}

// Not one of them runs any more when it returns.
void Slot::EndOthers() {
  std::unique_ptr<OtherRanks> others;
  {
    const MutexLock lock(mutex_);
    others = std::move(others_);
  }
  others.reset();
  rendezvous_.reset();
}

// The trainer is between two jobs: the threads that it starts for the next one will follow those
// that it has.
void Slot::ChooseProcessors(const Lease& lease) {
  if (options_.processors.empty()) return;
  // Ranks wait for each other, and each has threads beside those that compute.
  claim_ = WorldOf(lease) > 1
               ? ProcessorClaim()
               : ProcessorClaim::Make(options_.processors, lease.cpus, options_.affinity);
  const bool own = !claim_.processors().empty();
  const Status chosen = RunOn(trainer_->pid(), own ? claim_.processors() : options_.processors);
  if (!chosen.ok()) LogWarning(ToString(lease.attempt) + ": " + chosen.message());
}

void Slot::EndTrainer() {
  std::unique_ptr<TrainerProcess> trainer;
  {
    const MutexLock lock(mutex_);
    trainer = std::move(trainer_);
    training_ = false;
  }
  if (trainer != nullptr) trainer->End(options_.exit_grace);
}

}  // namespace gyre
