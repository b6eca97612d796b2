// An attempt while its trainer trains: what the trainer says, and what its end comes to.

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/machine.h"
#include "worker/slot.h"
#include "worker/trainer_end.h"

namespace gyre {
namespace {

// How late it may be noticed that a trainer told to stop has had its time, or a rank has failed.
constexpr Millis kLook{200};
// How long after the first word of a failure the rank that it began with may take to show.
constexpr Millis kCausePatience{2000};

}  // namespace

AttemptEnd Slot::Follow(const Lease& lease) {
  AttemptEnd end;
  while (true) {
    auto message = trainer_->Next(kLook);
    {
      const MutexLock lock(mutex_);
      if (stop_wanted_ && Clock::Real().Now() >= kill_at_) KillLocked();
    }
    if (others_ != nullptr) {
      if (const auto failure = others_->Look()) return EndOfRank(lease, *failure);
    }
    if (message.ok()) {
      if (!Take(lease, *std::move(message), &end)) continue;
      // What rank 0 calls another rank's fault is that rank's to explain.
      if (others_ == nullptr || end.error.code() != StatusCode::kUnavailable) return end;
      const auto failure = others_->AwaitFailure(kCausePatience);
      return failure ? EndOfRank(lease, *failure) : end;
    }
    switch (message.status().code()) {
      case StatusCode::kDeadlineExceeded:
        continue;
      case StatusCode::kUnavailable:
        return EndOfTrainer(lease);
      default: {
        EndTrainer();
        const MutexLock lock(mutex_);
        return {.outcome = Outcome::kFailed,
                .error = message.status(),
                .step = progress_.step,
                .tokens = progress_.tokens};
      }
    }
  }
}

void Slot::Started(const Lease& lease, const TrainerStarted& started) {
  fingerprint_ = started.fingerprint;
  uploader_->SetFingerprint(fingerprint_);
  if (const std::string missing = MissingPrecision(started, lease); !missing.empty()) {
    LogWarning(ToString(lease.attempt) + ": " + lease.sweep + ", " + lease.variant + " asks for " +
               missing + ", which " + lease.device +
               " has no instructions for, and trains in float32");
  }
}

// True when the attempt has ended, as `end` then says.
bool Slot::Take(const Lease& lease, TrainerMessage message, AttemptEnd* end) {
  if (const auto* started = std::get_if<TrainerStarted>(&message)) {
    Started(lease, *started);
  } else if (auto* point = std::get_if<Point>(&message)) {
    if (!uploader_->AddPoint(std::move(*point))) trainer_->Kill();
  } else if (auto* statistics = std::get_if<StatisticsText>(&message)) {
    if (!uploader_->AddStatistics(std::move(*statistics))) trainer_->Kill();
  } else if (auto* checkpoint = std::get_if<Checkpoint>(&message)) {
    options_.files->Wrote(uploader_->attempt().job_id, checkpoint->hash);
    if (!uploader_->AddCheckpoint(std::move(*checkpoint))) trainer_->Kill();
    const MutexLock lock(mutex_);
    checkpoint_wanted_ = false;
  } else if (const auto* progress = std::get_if<Progress>(&message)) {
    const MutexLock lock(mutex_);
    progress_ = *progress;
  } else if (const auto* full = std::get_if<TrainerDiskFull>(&message)) {
    options_.files->room().Filled(full->message);
    const MutexLock lock(mutex_);
    checkpoint_wanted_ = false;
  } else if (auto* done = std::get_if<TrainerDone>(&message)) {
    const MutexLock lock(mutex_);
    training_ = false;
    *end = {.outcome = done->stopped ? Outcome::kStopped : Outcome::kSucceeded,
            .step = done->step,
            .tokens = done->tokens,
            .diverged_at_step = done->diverged_at_step,
            .peak_memory_bytes = done->peak_memory_bytes,
            .tokens_per_second = done->tokens_per_second,
            .fingerprint = fingerprint_};
    return true;
  } else if (auto* error = std::get_if<TrainerError>(&message)) {
    const MutexLock lock(mutex_);
    training_ = false;
    *end = {.outcome = Outcome::kFailed,
            .error = std::move(error->status),
            .step = progress_.step,
            .tokens = progress_.tokens,
            .fingerprint = fingerprint_};
    return true;
  }
  return false;
}

// The trainer has died, or will: what the attempt comes to.
AttemptEnd Slot::EndOfTrainer(const Lease& lease) {
  std::unique_ptr<TrainerProcess> trainer;
  AttemptEnd end{.fingerprint = fingerprint_};
  bool gave_up = false;
  {
    const MutexLock lock(mutex_);
    trainer = std::move(trainer_);
    training_ = false;
    end.step = std::max(progress_.step, lease.checkpoint_step);
    end.tokens = progress_.tokens;
    gave_up = stop_wanted_ && Clock::Real().Now() >= kill_at_;
  }
  const ChildEnd how = trainer->End(options_.exit_grace);
  end.peak_memory_bytes = how.peak_memory_bytes;
  TrainerVerdict verdict =
      Judge({.who = WorldOf(lease) > 1 ? "the trainer of rank 0" : "the trainer",
             .how = how,
             .last_lines = trainer->LastLines(),
             .memory_was_short = OutOfMemoryKills() > memory_kills_,
             .given_up = gave_up ? std::optional(options_.stop_grace) : std::nullopt});
  end.outcome = verdict.outcome;
  end.error = std::move(verdict.error);
  return end;
}

// The first that fails is the cause; what the others come to is a consequence.
AttemptEnd Slot::EndOfRank(const Lease& lease, const RankFailure& failure) {
  AttemptEnd end{.fingerprint = fingerprint_};
  bool gave_up = false;
  {
    const MutexLock lock(mutex_);
    KillLocked();
    end.step = std::max(progress_.step, lease.checkpoint_step);
    end.tokens = progress_.tokens;
    gave_up = stop_wanted_ && Clock::Real().Now() >= kill_at_;
  }
  EndTrainer();
  TrainerVerdict verdict{Outcome::kFailed, failure.error};
  if (failure.error.ok()) {
    verdict = Judge({.who = "the trainer of rank " + std::to_string(failure.rank),
                     .how = failure.how,
                     .last_lines = failure.last_lines,
                     .memory_was_short = OutOfMemoryKills() > memory_kills_,
                     .given_up = gave_up ? std::optional(options_.stop_grace) : std::nullopt});
  }
  end.outcome = verdict.outcome;
  end.error = std::move(verdict.error);
  return end;
}

}  // namespace gyre
