#include "coordinator/explain_job.h"

namespace gyre {
namespace {

std::string Count(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string Command(const char* verb, const std::string& target) {
  return "gyre " + std::string(verb) + " " + target;
}

std::string Command(const char* verb, int64_t job) { return Command(verb, std::to_string(job)); }

/// "6 run jobs of table-2, 2 of quickstart".
std::string Holders(const std::map<std::string, int>& running) {
  std::string text;
  for (const auto& [sweep, jobs] : running) {
    text += (text.empty() ? "" : ", ") + std::to_string(jobs) + " by " + sweep;
  }
  return text;
}

std::string Problems(const std::map<std::string, std::string>& problems) {
  std::string text;
  for (const auto& [worker, problem] : problems) {
    text += "; " + worker + " takes no work: " + problem;
  }
  return text;
}

bool IsCode(const EndingFacts& facts, StatusCode code) {
  return facts.last && facts.last->error_code == StatusCodeName(code);
}

}  // namespace

std::string InWords(Millis duration) {
  const int64_t seconds = duration.count() / 1000;
  if (seconds == 0) return std::to_string(duration.count()) + " ms";
  if (seconds % 3600 == 0) return std::to_string(seconds / 3600) + " h";
  if (seconds % 60 == 0) return std::to_string(seconds / 60) + " min";
  return std::to_string(seconds) + " s";
}

// In the order in which the scheduler looks: what comes first keeps the job from starting whatever
// the rest says.
std::string WhyItWaits(const WaitingFacts& facts) {
  if (facts.intent == SweepIntent::kPaused) {
    return "its sweep, " + facts.sweep + ", " +
           (facts.pause_reason.empty() ? "is paused" : "has paused itself: " + facts.pause_reason);
  }
  if (facts.paused) return "it is paused";
  if (!facts.unfit.empty()) return facts.unfit + Problems(facts.problems);
  if (facts.pause_left > Millis(0)) {
    return "it failed before, and is tried again in " + InWords(facts.pause_left);
  }
  std::string why;
  if (!facts.reserved_on.empty()) {
    return facts.reserved_on + " keeps a place for it, " +
           (facts.reserved_in ? "in about " + InWords(*facts.reserved_in)
                              : std::string("until what runs there has ended")) +
           ": nothing has room for it now, and what would delay it does not start there" +
           Problems(facts.problems);
  }
  if (facts.busy >= facts.slots) {
    why = facts.slots == 1 ? "the only slot is busy"
                           : "all " + std::to_string(facts.slots) + " slots are busy";
    if (!facts.running.empty()) why += " (" + Holders(facts.running) + ")";
  } else {
    why = Count(facts.slots - facts.busy, "slot") + " of " + std::to_string(facts.slots) +
          (facts.slots - facts.busy == 1 ? " is" : " are") + " free";
  }
  why += facts.ahead == 0 ? "; it is next"
                          : "; " + Count(facts.ahead, "job") +
                                (facts.ahead == 1 ? " goes" : " go") + " before it";
  for (const std::string& node : facts.avoided) {
    why += "; it failed or was lost on " + node + " before, and goes there only if no other can";
  }
  return why + Problems(facts.problems);
}

std::vector<std::string> WhatToDoWhileItWaits(const WaitingFacts& facts) {
  if (facts.intent == SweepIntent::kPaused) {
    const std::string resume = Command("resume", facts.sweep) + " goes on with it";
    if (facts.pause_reason.empty()) return {resume};
    return {"remove the cause, then " + Command("retry", facts.sweep) +
                " (what has failed, too) or " + Command("resume", facts.sweep),
            "gyre status " + facts.sweep + " shows the jobs that failed"};
  }
  if (facts.paused) return {Command("resume", facts.job) + " goes on with it"};
  if (facts.unfit == "no worker is connected") {
    return {"start one: gyre worker --coordinator HOST:PORT; gyre status shows those there are"};
  }
  if (!facts.unfit.empty()) {
    return {
        "start a worker on a larger machine, or ask for less under `resources` in the sweep's "
        "file and submit it with --replace"};
  }
  if (facts.busy >= facts.slots && facts.ahead > 0) {
    return {"more workers, or a higher `priority` in the sweep's file, start it sooner"};
  }
  return {};
}

std::string WhyItEnded(const EndingFacts& facts) {
  switch (facts.state) {
    case JobState::kSucceeded:
      if (!facts.diverged_at_step) return "it has finished";
      return "it has finished, and its loss was not finite from step " +
             std::to_string(*facts.diverged_at_step) +
             " on; it is left out of means, and comparisons count it as diverged";
    case JobState::kCanceled:
      return "it was canceled";
    case JobState::kStoppedEarly:
      return "it was stopped early, by " + facts.stop_reason +
             ". It is left out of comparisons at the end, which say so";
    default:
      break;
  }
  std::string why = facts.error.substr(0, facts.error.find('\n'));
  if (!facts.why_not_again.empty()) why += ". It is not tried again: " + facts.why_not_again;
  return why;
}

std::vector<std::string> WhatToDoAfter(const EndingFacts& facts) {
  if (facts.state == JobState::kCanceled) {
    return {Command("retry", facts.job) + " queues it anew, " + Command("retry", facts.sweep) +
            " the whole sweep"};
  }
  if (facts.state == JobState::kSucceeded && facts.diverged_at_step) {
    return {
        "a lower learning rate or a longer warm-up often helps; to train it again as it is: "
        "gyre submit FILE --fresh"};
  }
  if (facts.state == JobState::kStoppedEarly) {
    return {
        "to train it all the way, submit it in a sweep without stop_early; what has finished is "
        "not trained again"};
  }
  if (facts.state != JobState::kFailed) return {};
  std::vector<std::string> next;
  if (IsCode(facts, StatusCode::kInvalidArgument)) {
    next.push_back(
        "correct the sweep's file and submit it with --replace; what has finished is "
        "not trained again");
  } else if (IsCode(facts, StatusCode::kResourceExhausted)) {
    next.push_back(
        "use a smaller train.micro_batch, context or model; or state "
        "resources.memory in the sweep's file, so that fewer run side by side; or "
        "start workers with fewer --slots or on a machine with more memory");
  } else if (facts.last && facts.last->state == AttemptState::kLost) {
    next.push_back("look at the machine of " + facts.last->worker +
                   ": what ended its worker or killed the trainer?");
  }
  next.push_back(Command("logs", facts.job) + " shows its log; " + Command("retry", facts.job) +
                 " tries it again, " + Command("retry", facts.sweep) +
                 " every job of the sweep that failed");
  return next;
}

}  // namespace gyre
