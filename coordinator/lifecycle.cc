#include "coordinator/lifecycle.h"

#include <array>
#include <string>

namespace gyre {
namespace {

constexpr std::array<std::string_view, 6> kJobStates = {"QUEUED", "RUNNING",       "SUCCEEDED",
                                                        "FAILED", "STOPPED_EARLY", "CANCELED"};
constexpr std::array<std::string_view, 6> kAttemptStates = {"LEASED", "RUNNING", "SUCCEEDED",
                                                            "FAILED", "LOST",    "STOPPED"};
constexpr std::array<std::string_view, 3> kIntents = {"ACTIVE", "PAUSED", "CANCELED"};

template <typename State, size_t N>
Result<State> Parse(const std::array<std::string_view, N>& names, std::string_view name,
                    std::string_view what) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<State>(i);
  }
  return DataLoss("'" + std::string(name) + "' is no state of " + std::string(what));
}

Status Refused(std::string_view what, std::string_view state, std::string_view verb) {
  return FailedPrecondition(std::string(what) + " that is " + std::string(state) + " cannot " +
                            std::string(verb));
}

constexpr std::array<std::string_view, 7> kJobVerbs = {
    "be leased", "be queued again", "succeed", "fail", "stop early", "be canceled", "be revived"};
constexpr std::array<std::string_view, 5> kAttemptVerbs = {"start", "succeed", "fail", "be lost",
                                                           "be stopped"};

}  // namespace

std::string_view Name(JobState state) { return kJobStates[static_cast<size_t>(state)]; }
std::string_view Name(AttemptState state) { return kAttemptStates[static_cast<size_t>(state)]; }
std::string_view Name(SweepIntent intent) { return kIntents[static_cast<size_t>(intent)]; }

Result<JobState> ParseJobState(std::string_view name) {
  return Parse<JobState>(kJobStates, name, "a job");
}
Result<AttemptState> ParseAttemptState(std::string_view name) {
  return Parse<AttemptState>(kAttemptStates, name, "an attempt");
}
Result<SweepIntent> ParseSweepIntent(std::string_view name) {
  return Parse<SweepIntent>(kIntents, name, "a sweep's intent");
}

Result<JobState> Next(JobState from, JobStep step) {
  const bool queued = from == JobState::kQueued;
  const bool running = from == JobState::kRunning;
  switch (step) {
    case JobStep::kLease:
      if (queued) return JobState::kRunning;
      break;
    case JobStep::kRequeue:
      if (running) return JobState::kQueued;
      break;
    case JobStep::kSucceed:
      if (running) return JobState::kSucceeded;
      break;
    case JobStep::kFail:
      if (running) return JobState::kFailed;
      break;
    case JobStep::kStopEarly:
      if (running) return JobState::kStoppedEarly;
      break;
    case JobStep::kCancel:
      if (queued || running) return JobState::kCanceled;
      break;
    case JobStep::kRevive:
      if (from == JobState::kFailed || from == JobState::kCanceled) return JobState::kQueued;
      break;
  }
  return Refused("a job", Name(from), kJobVerbs[static_cast<size_t>(step)]);
}

Result<AttemptState> Next(AttemptState from, AttemptStep step) {
  if (!HasEnded(from)) {
    switch (step) {
      case AttemptStep::kStart:
        if (from == AttemptState::kLeased) return AttemptState::kRunning;
        break;
      case AttemptStep::kSucceed:
        return AttemptState::kSucceeded;
      case AttemptStep::kFail:
        return AttemptState::kFailed;
      case AttemptStep::kLose:
        return AttemptState::kLost;
      case AttemptStep::kStop:
        return AttemptState::kStopped;
    }
  }
  return Refused("an attempt", Name(from), kAttemptVerbs[static_cast<size_t>(step)]);
}

Result<SweepIntent> Next(SweepIntent from, SweepStep step) {
  switch (step) {
    case SweepStep::kPause:
      if (from != SweepIntent::kCanceled) return SweepIntent::kPaused;
      break;
    case SweepStep::kResume:
      return SweepIntent::kActive;
    case SweepStep::kCancel:
      return SweepIntent::kCanceled;
  }
  return Refused("a sweep", Name(from), "be paused");
}

}  // namespace gyre
