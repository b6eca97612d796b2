#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/files.h"
#include "base/log.h"
#include "trainer/arguments.h"
#include "trainer/commands.h"
#include "trainer/job_file.h"
#include "trainer/ranks.h"
#include "trainer/statistics/record.h"
#include "trainer/trainer.h"

namespace gyre {
namespace {

// Ctrl-C asks for a checkpoint; a second one ends at once.
TrainControl interrupted;
static_assert(std::atomic<bool>::is_always_lock_free, "set from a signal handler");
void Interrupt(int) {
  interrupted.stop = true;
  std::signal(SIGINT, SIG_DFL);
}

class PrintingObserver : public TrainObserver {
 public:
  PrintingObserver(std::ostream* out, std::ofstream* statistics)
      : out_(out), statistics_(statistics) {}
  void OnPoint(const PointValue& point) override {
    char line[256];
    std::snprintf(line, sizeof line, "%8lld %12lld  %-28s %.6g\n",
                  static_cast<long long>(point.step), static_cast<long long>(point.tokens),
                  point.metric.c_str(), point.value);
    *out_ << line << std::flush;
  }
  void OnStatistics(const StatisticsRecord& record) override {
    if (!statistics_->is_open()) return;
    *statistics_ << ToJson(record).dump() << "\n" << std::flush;
    if (!*statistics_)
      LogWarning("the statistics of step " + std::to_string(record.step) + " could not be written");
    statistics_->clear();
  }
  void OnCheckpoint(const CheckpointInfo& checkpoint) override {
    LogInfo(std::string(checkpoint.weights_only ? "weights: " : "checkpoint: ") + checkpoint.hash);
    last = checkpoint.hash;
  }
  void OnProgress(const TrainProgress&) override {}

  std::string last;  // checkpoint

 private:
  std::ostream* const out_;
  std::ofstream* const statistics_;  // a record a line; not open where nobody asked for them
};

Result<RankOptions> PlaceAmongRanks(const Arguments& arguments) {
  RankOptions place;
  GYRE_ASSIGN_OR_RETURN(place.world, arguments.Number("--world", 1, 1));
  GYRE_ASSIGN_OR_RETURN(place.rank, arguments.Number("--rank", 0, 0));
  place.folder = arguments.Flag("--rendezvous", "");
  if (place.rank >= place.world) {
    return InvalidArgument("--rank must be below --world, which is " + std::to_string(place.world) +
                           ", and is " + std::to_string(place.rank));
  }
  if (place.world > 1 && place.folder.empty()) {
    return InvalidArgument(
        "--world needs --rendezvous: a folder, new for each start, in which the ranks find each "
        "other");
  }
  return place;
}

Result<int> Run(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.words.size() != 1) return InvalidArgument("train needs one JOB.json");
  TrainOptions options;
  options.home = arguments.Flag("--home", GyreHome().string());
  options.resume_from = arguments.Flag("--resume", "");
  options.backend = arguments.Flag("--backend", kDefaultBackend);
  GYRE_ASSIGN_OR_RETURN(options.threads, arguments.Number("--threads", 1, 1));
  GYRE_ASSIGN_OR_RETURN(const RankOptions place, PlaceAmongRanks(arguments));
  GYRE_ASSIGN_OR_RETURN(
      const TrainerJob job,
      ReadJobFile(arguments.words[0], options.home, [](const std::string& s) { LogInfo(s); }));
  std::ofstream statistics;
  if (const std::string file = arguments.Flag("--statistics", ""); !file.empty()) {
    statistics.open(file, std::ios::app);
    if (!statistics) return InvalidArgument("--statistics " + file + " cannot be written to");
  }
  std::signal(SIGINT, Interrupt);
  GYRE_ASSIGN_OR_RETURN(const auto ranks, MeetRanks(job, options, place));
  options.ranks = ranks.get();
  PrintingObserver observer(&out, &statistics);
  const auto trained = Train(job, options, observer, interrupted);
  if (!trained.ok() && place.world > 1 && !observer.last.empty()) {
    err << "to go on: start every rank again with --resume " << observer.last
        << " and a new --rendezvous\n";
  }
  GYRE_ASSIGN_OR_RETURN(const TrainOutcome outcome, trained);
  char line[160];
  std::snprintf(line, sizeof line, "%s at step %lld: %.0f tokens/s, %.0f MiB",
                outcome.stopped            ? "stopped"
                : outcome.diverged_at_step ? "diverged"
                                           : "done",
                static_cast<long long>(outcome.step), outcome.tokens_per_second,
                static_cast<double>(outcome.peak_memory_bytes) / (1 << 20));
  LogInfo(line);
  if (!outcome.stopped) return 0;
  if (place.rank > 0) return 130;
  err << "stopped; to go on: gyre-trainer train " << arguments.words[0] << " --resume "
      << observer.last << "\n";
  return 130;
}

}  // namespace

int TrainCommand(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  const auto arguments =
      Arguments::Parse(words, {"--home", "--resume", "--threads", "--backend", "--statistics",
                               "--rank", "--world", "--rendezvous"});
  if (!arguments.ok()) return ReportFailure(arguments.status(), err);
  const Result<int> code = Run(*arguments, out, err);
  return code.ok() ? *code : ReportFailure(code.status(), err);
}

}  // namespace gyre
