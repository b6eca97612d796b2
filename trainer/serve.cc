#include "trainer/serve.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/log.h"
#include "trainer/ranks.h"
#include "trainer/serve_messages.h"

namespace gyre {
namespace {

constexpr size_t kMaxLineBytes = size_t{64} << 20;

// Whole lines out, from any thread. Whoever does not read us is gone, and then so are we.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) {}
  void Write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    std::string_view rest = line;
    while (!rest.empty()) {
      const ssize_t written = write(fd_, rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) _exit(1);
      rest.remove_prefix(static_cast<size_t>(written));
    }
  }

 private:
  std::mutex mutex_;
  const int fd_;
};

// The one job at a time, handed from the reading thread to the training thread.
class Desk {
 public:
  struct Work {
    RunRequest run;
    std::shared_ptr<TrainControl> control;
  };

  // From the reading thread.
  Status Obey(ServeRequest command) {
    const std::lock_guard lock(mutex_);
    if (auto* run = std::get_if<RunRequest>(&command)) {
      if (control_ != nullptr) return FailedPrecondition("a job is running; one at a time");
      control_ = std::make_shared<TrainControl>();
      waiting_ = Work{std::move(*run), control_};
      changed_.notify_one();
    } else if (control_ != nullptr) {  // else the job has ended meanwhile
      (std::holds_alternative<StopRequest>(command) ? control_->stop : control_->checkpoint) = true;
    }
    return OkStatus();
  }

  // From the training thread.
  Work Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.has_value(); });
    return *std::exchange(waiting_, std::nullopt);
  }
  void Finished() {
    const std::lock_guard lock(mutex_);
    control_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Work> waiting_;
  std::shared_ptr<TrainControl> control_;  // of the job that waits or runs
};

// Never returns. Ends the process at end of file, whatever the training thread does.
[[noreturn]] void ReadCommands(int fd, Desk* desk, Output* output) {
  std::string line;
  bool too_long = false;
  const auto obey = [&] {
    Result<ServeRequest> command =
        too_long ? Result<ServeRequest>(InvalidArgument("a line on stdin is longer than " +
                                                        std::to_string(kMaxLineBytes) + " bytes"))
                 : ParseServeRequest(line);
    const Status status = command.ok() ? desk->Obey(*std::move(command)) : command.status();
    if (!status.ok()) output->Write(ErrorLine(status));
    line.clear();
    too_long = false;
  };
  static char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(0);
    std::string_view rest(buffer, static_cast<size_t>(got));
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      if (!too_long) line.append(rest.substr(0, end));
      if (line.size() > kMaxLineBytes) {
        too_long = true;
        line.clear();
      }
      if (end == std::string_view::npos) break;
      if (too_long || line.find_first_not_of(" \t\r") != std::string::npos) obey();
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
}

class OutputObserver : public TrainObserver {
 public:
  explicit OutputObserver(Output* output) : output_(output) {}
  void OnStart(const Json& fingerprint) override { output_->Write(StartedLine(fingerprint)); }
  void OnPoint(const PointValue& point) override { output_->Write(PointLine(point)); }
  void OnStatistics(const StatisticsRecord& record) override {
    output_->Write(StatisticsLine(record));
  }
  void OnCheckpoint(const CheckpointInfo& checkpoint) override {
    output_->Write(CheckpointLine(checkpoint));
  }
  void OnDiskFull(const std::string& message) override { output_->Write(DiskFullLine(message)); }
  void OnProgress(const TrainProgress& progress) override {
    output_->Write(ProgressLine(progress));
  }

 private:
  Output* const output_;
};

Result<TrainOutcome> Train(const RunRequest& run, TrainObserver& observer, TrainControl& control) {
  TrainOptions options = run.options;
  GYRE_ASSIGN_OR_RETURN(const auto ranks, MeetRanks(run.job, options, run.place));
  options.ranks = ranks.get();
  return Train(run.job, options, observer, control);
}

}  // namespace

int Serve(int input_fd, int output_fd) {
  // A worker that is killed takes its trainer along, also one that is inside a long computation.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what libraries may start stays known as this process's
  std::signal(SIGPIPE, SIG_IGN);
  Output output(output_fd);
  Desk desk;
  output.Write(HelloLine());
  std::thread(ReadCommands, input_fd, &desk, &output).detach();
  OutputObserver observer(&output);
  while (true) {
    const Desk::Work work = desk.Take();
    const TrainOptions& options = work.run.options;
    LogInfo("job " + work.run.job.key + ": starting" +
            (options.resume_from.empty() ? "" : " from checkpoint " + options.resume_from));
    const Result<TrainOutcome> outcome = Train(work.run, observer, *work.control);
    desk.Finished();  // before the word of it: the next job may follow at once
    LogInfo("job " + work.run.job.key + ": " +
            (outcome.ok() ? "done" : outcome.status().ToString()));
    output.Write(outcome.ok() ? DoneLine(*outcome) : ErrorLine(outcome.status()));
  }
}

}  // namespace gyre
