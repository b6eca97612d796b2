#include "worker/trainer_end.h"

#include <csignal>
#include <cstring>

namespace gyre {
namespace {

bool IsFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

// The end of an error's first line, which is all that a table has room for, and all that tells
// failures apart; the lines before it follow.
std::string LastWords(std::string log) {
  log.erase(log.find_last_not_of(" \n") + 1);
  if (log.empty()) return "; it wrote nothing to its log";
  const size_t before = log.rfind('\n');
  const std::string words = "; its last line: " + log.substr(before + 1);
  return before == std::string::npos ? words : words + "\nits last lines:\n" + log;
}

}  // namespace

TrainerVerdict Judge(const TrainerEnd& end) {
  const int signal = end.how.signal;
  const std::string& who = end.who;
  const std::string words = LastWords(end.last_lines);
  if (end.given_up && signal == SIGKILL) {
    return {Outcome::kStopped,
            DeadlineExceeded(who + " did not stop within " + std::to_string(end.given_up->count()) +
                             " ms and was killed")};
  }
  if (end.how.overdue) {
    return {Outcome::kFailed, Internal(who +
                                       " stopped talking in the middle of the job, did not "
                                       "exit, and was killed" +
                                       words)};
  }
  if (signal == SIGKILL && end.memory_was_short) {
    return {Outcome::kFailed,
            ResourceExhausted(who +
                              " was killed while the machine was out of memory; use a "
                              "smaller micro-batch or fewer slots" +
                              words)};
  }
  if (IsFromOutside(signal)) {
    return {Outcome::kLost,
            Unavailable(who + " was killed from outside (" + SignalName(signal) + ")")};
  }
  if (signal != 0) {
    return {Outcome::kFailed, Internal(who + " crashed: " + SignalName(signal) + " (" +
                                       strsignal(signal) + ")" + words)};
  }
  return {Outcome::kFailed, Internal(who + " exited with code " + std::to_string(end.how.code) +
                                     " in the middle of the job" + words)};
}

}  // namespace gyre
