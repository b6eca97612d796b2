#pragma once

// A `gyre-trainer serve` that runs: commands in, messages out, its stderr into the log of the
// attempt at hand. Made once a slot and used for one job after another.
//
// Threads: one follows it (Greet, Next, LogTo, End); Say and Kill may come from any.

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "worker/child_process.h"
#include "worker/trainer_log.h"
#include "worker/trainer_messages.h"

namespace gyre {

/// `wanted`, or gyre-trainer beside this program if that is empty. NOT_FOUND: no such program.
Result<std::filesystem::path> FindTrainer(const std::filesystem::path& wanted);

class TrainerProcess {
 public:
  /// Starts `program serve`; its stderr goes to `log` until LogTo. From a thread that lives on
  /// (child_process.h).
  static Result<std::unique_ptr<TrainerProcess>> Start(const std::filesystem::path& program,
                                                       std::unique_ptr<TrainerLog> log);

  /// The first message: OK when it is there within `timeout`. FAILED_PRECONDITION: it speaks
  /// another protocol.
  Result<TrainerHello> Greet(Millis timeout);

  /// The next message. DEADLINE_EXCEEDED: none within `timeout`. INVALID_ARGUMENT: something else
  /// was said (what follows cannot be trusted). UNAVAILABLE: it has ended, or closed its end.
  Result<TrainerMessage> Next(Millis timeout);

  /// A command line. UNAVAILABLE: it does not read any more.
  Status Say(std::string_view line, Millis timeout) { return child_->Write(line, timeout); }
  void Kill();

  /// Where stderr goes from now on.
  void LogTo(std::unique_ptr<TrainerLog> log) { log_ = std::move(log); }
  /// Takes what it has written to its log so far.
  void DrainLog();
  std::string LastLines() const { return log_->LastLines(); }

  /// Whether it could take another job.
  bool Running() const;
  /// Ends whatever processes it has started: a job leaves none behind.
  void EndOffspring() { child_->EndOffspring(); }
  int pid() const { return child_->pid(); }

  /// Ends it: end of file on its stdin, SIGKILL for the group after `grace`. Call once, last.
  ChildEnd End(Millis grace);

 private:
  TrainerProcess(std::unique_ptr<ChildProcess> child, std::unique_ptr<TrainerLog> log);

  std::optional<Result<TrainerMessage>> TakeLine();
  bool ReadOutput();  // false at its end
  void ReadErrors();

  std::unique_ptr<ChildProcess> child_;
  std::atomic<bool> killed_{false};
  std::unique_ptr<TrainerLog> log_;
  std::string buffer_;  // of output; lines before position_ are taken
  size_t position_ = 0;
  size_t searched_ = 0;  // no line ends between position_ and here
  bool errors_open_ = true;
};

}  // namespace gyre
