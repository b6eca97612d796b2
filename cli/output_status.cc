#include "cli/output_status.h"

#include <algorithm>
#include <cstdint>

#include "cli/output_table.h"
#include "cli/progress_lines.h"
#include "cli/text_width.h"
#include "results/numbers.h"
#include "sweeps/spec/nearest.h"

namespace gyre {
namespace {

constexpr char kGone[] = "GONE";

QueryTable CountsOf(const std::vector<SweepStatus>& sweeps) {
  QueryTable table;
  table.columns = {"sweep",  "intent",        "queued",   "running",     "succeeded",
                   "failed", "stopped_early", "canceled", "tokens_done", "tokens_budget"};
  for (const SweepStatus& sweep : sweeps) {
    const JobCounts& jobs = sweep.jobs;
    table.rows.push_back({sweep.name, sweep.intent, int64_t{jobs.queued}, int64_t{jobs.running},
                          int64_t{jobs.succeeded}, int64_t{jobs.failed},
                          int64_t{jobs.stopped_early}, int64_t{jobs.canceled}, sweep.tokens_done,
                          sweep.tokens_budget});
  }
  return table;
}

std::string Tokens(int64_t count) { return FormatCount(static_cast<double>(count)); }

std::string SweepsTable(const std::vector<SweepStatus>& sweeps, int width) {
  TextTable table;
  table.columns = {{"sweep"},      {"intent"},          {"queued", true},      {"running", true},
                   {"done", true}, {"failed", true, 1}, {"canceled", true, 3}, {"tokens", true, 2}};
  for (const SweepStatus& sweep : sweeps) {
    const JobCounts& jobs = sweep.jobs;
    table.rows.push_back({sweep.name, sweep.intent, std::to_string(jobs.queued),
                          std::to_string(jobs.running),
                          std::to_string(jobs.succeeded + jobs.stopped_early),
                          std::to_string(jobs.failed), std::to_string(jobs.canceled),
                          Tokens(sweep.tokens_done) + " of " + Tokens(sweep.tokens_budget)});
  }
  return RenderTable(table, width);
}

/// At most `most` rows of a table, and how many more there are.
std::string LimitedTable(TextTable table, int width, size_t most, const std::string& what) {
  const size_t hidden = table.rows.size() - std::min(most, table.rows.size());
  table.rows.resize(table.rows.size() - hidden);
  std::string text = RenderTable(table, width);
  if (hidden > 0) text += "... and " + std::to_string(hidden) + " more " + what + "\n";
  return text;
}

TextTable VariantRows(const std::vector<VariantStatus>& variants) {
  TextTable table;
  table.columns = {{"variant"},      {"queued", true, 1},   {"running", true},  {"done", true},
                   {"failed", true}, {"canceled", true, 3}, {"tokens", true, 2}};
  for (const VariantStatus& variant : variants) {
    const JobCounts& jobs = variant.jobs;
    table.rows.push_back({variant.variant, std::to_string(jobs.queued),
                          std::to_string(jobs.running),
                          std::to_string(jobs.succeeded + jobs.stopped_early) + " of " +
                              std::to_string(jobs.total()),
                          std::to_string(jobs.failed), std::to_string(jobs.canceled),
                          Tokens(variant.tokens_done) + " of " + Tokens(variant.tokens_budget)});
  }
  return table;
}

TextTable RunningRows(const std::vector<RunningJobStatus>& running) {
  TextTable table;
  table.columns = {{"job", true},        {"variant"},         {"seed", true},
                   {"tokens", true},     {"loss", true},      {"tokens/s", true, 1},
                   {"attempt", true, 2}, {"worker", false, 3}};
  for (const RunningJobStatus& job : running) {
    table.rows.push_back({std::to_string(job.job_id), job.variant, std::to_string(job.seed),
                          Tokens(job.tokens) + " of " + Tokens(job.tokens_budget),
                          job.loss ? FormatFixed(*job.loss, 3) : "-",
                          job.tokens_per_second > 0 ? FormatCount(job.tokens_per_second) : "-",
                          std::to_string(job.attempt),
                          job.worker + (job.suspected_at.empty() ? "" : " (silent)")});
  }
  return table;
}

/// What keeps it, a paragraph each.
std::string Troubles(const SweepStatus& sweep, int width) {
  std::string text;
  const auto add = [&](const std::string& words) {
    text += "\n" + Wrap(Visible(words), width, 2) + "\n";
  };
  if (!sweep.problem.empty()) add("coordinator: " + sweep.problem);
  if (sweep.paused_itself()) {
    add("paused itself: " + sweep.pause_reason + "; when the cause is gone: gyre retry " +
        sweep.name);
  } else if (sweep.intent == "PAUSED" && !sweep.ended()) {
    add("paused: gyre resume " + sweep.name + " goes on");
  }
  if (!sweep.waiting.empty()) add("waiting: " + sweep.waiting);
  if (sweep.differing_points > 0) {
    add("warning: " + std::to_string(sweep.differing_points) +
        " points came again with another value under the same fingerprint; gyre explain JOB tells "
        "which, and gyre query \"SELECT job_id, details FROM events WHERE kind = "
        "'nondeterminism'\" all of them");
  }
  return text;
}

size_t LinesOf(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Rows for each of several tables, the later ones first served with at most `few` rows, where
/// `room` lines are left. Each takes three lines beside its rows and one for what is left out.
struct Shares {
  size_t variants = SIZE_MAX, running = SIZE_MAX;
};
Shares ShareRoom(size_t variants, size_t running, size_t room) {
  constexpr size_t kBeside = 3, kLeftOut = 1, kFew = 3;
  const size_t all =
      (variants > 0 ? variants + kBeside : 0) + (running > 0 ? running + kBeside : 0);
  if (all <= room) return {};
  Shares shares;
  shares.running = running <= kFew + 1 ? running : kFew;
  const size_t taken = running == 0 ? 0 : shares.running + kBeside + (shares.running < running);
  const size_t left = room > taken + kBeside + kLeftOut ? room - taken - kBeside - kLeftOut : 0;
  shares.variants = std::max<size_t>(left, 2);
  return shares;
}

std::string JoinLines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// In full where there are few and room, else those that are alike in one line.
std::string Failures(const std::vector<FailedJobStatus>& failures, int width) {
  constexpr size_t kFew = 3;
  if (failures.size() > kFew) return JoinLines(FailureLines(failures, width > 0 ? width : 200));
  std::string text;
  for (const FailedJobStatus& job : failures) {
    text += Wrap("job " + std::to_string(job.job_id) + ", " + Visible(job.variant) + " seed " +
                     std::to_string(job.seed) + ", failed: " + Visible(job.error),
                 width, 2) +
            "\n";
  }
  return text;
}

/// The first ones with why, and how many more there are.
std::string StoppedEarly(const std::vector<FailedJobStatus>& stopped, int width) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(stopped.size(), kShown); ++i) {
    const FailedJobStatus& job = stopped[i];
    text += Wrap("job " + std::to_string(job.job_id) + ", " + Visible(job.variant) + " seed " +
                     std::to_string(job.seed) + ", stopped early by " + Visible(job.error),
                 width, 2) +
            "\n";
  }
  if (stopped.size() > kShown) {
    text +=
        "... and " + std::to_string(stopped.size() - kShown) + " more that were stopped early\n";
  }
  return text;
}

/// "2 NVIDIA H200, cpu".
std::string DevicesInWords(const std::vector<WorkerDevice>& devices) {
  std::vector<std::pair<std::string, int>> gpus;  // by model, in their order
  std::string text;
  for (const WorkerDevice& device : devices) {
    if (device.kind != "cuda") continue;
    const auto known = std::find_if(gpus.begin(), gpus.end(),
                                    [&](const auto& gpu) { return gpu.first == device.model; });
    if (known == gpus.end()) {
      gpus.emplace_back(device.model, 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [model, count] : gpus) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + model;
  }
  const bool on_cpu = std::any_of(devices.begin(), devices.end(),
                                  [](const WorkerDevice& device) { return device.kind != "cuda"; });
  return Visible(text + (on_cpu ? text.empty() ? "cpu" : ", cpu" : ""));
}

std::string WorkersTable(const std::vector<WorkerStatus>& workers, int width) {
  TextTable table;
  table.columns = {{"worker"},
                   {"state"},
                   {"slots", true},
                   {"busy", true},
                   {"cpus", true, 1},
                   {"devices", false, 1},
                   {"version", false, 3},
                   {"last seen", false, 2}};
  for (const WorkerStatus& worker : workers) {
    if (worker.state == kGone) continue;
    table.rows.push_back({worker.name, worker.state, std::to_string(worker.slots),
                          std::to_string(worker.busy), std::to_string(worker.cpus),
                          DevicesInWords(worker.devices), worker.version, worker.last_seen_at});
  }
  return table.rows.empty() ? "no workers\n" : RenderTable(table, width);
}

/// One line for those that are gone, however many there have ever been; the last to go first.
std::string GoneLine(std::vector<WorkerStatus> workers, int width) {
  std::erase_if(workers, [](const WorkerStatus& worker) { return worker.state != kGone; });
  if (workers.empty()) return "";
  std::stable_sort(
      workers.begin(), workers.end(),
      [](const WorkerStatus& a, const WorkerStatus& b) { return a.last_seen_at > b.last_seen_at; });
  std::vector<std::string> names;
  for (const WorkerStatus& worker : workers) names.push_back(Visible(worker.name));
  return Wrap(std::to_string(names.size()) + " gone: " + List(names, 6) + "; the last was seen " +
                  workers.front().last_seen_at,
              width, 2) +
         "\n";
}

}  // namespace

std::string RenderStatus(const SweepStatus& sweep, OutputFormat format, int width, int height) {
  if (format == OutputFormat::kJson) return SweepStatusToJson(sweep) + "\n";
  if (format != OutputFormat::kTable) return RenderQueryTable(CountsOf({sweep}), format, width);
  std::string text = SweepsTable({sweep}, width);
  if (!sweep.question.empty()) text = Wrap(Visible(sweep.question), width, 2) + "\n\n" + text;
  text += Troubles(sweep, width);
  std::string failures;
  if (!sweep.failures.empty()) failures = "\n" + Failures(sweep.failures, width);
  if (!sweep.stopped_early.empty()) failures += "\n" + StoppedEarly(sweep.stopped_early, width);
  Shares shares;
  if (height > 0) {
    const size_t used = LinesOf(text) + LinesOf(failures);
    const auto lines = static_cast<size_t>(height);
    shares =
        ShareRoom(sweep.variants.size(), sweep.running.size(), lines > used ? lines - used : 0);
  }
  if (!sweep.variants.empty()) {
    text += "\n" + LimitedTable(VariantRows(sweep.variants), width, shares.variants, "variants");
  }
  if (!sweep.running.empty()) {
    text += "\n" + LimitedTable(RunningRows(sweep.running), width, shares.running, "that run");
  }
  return text + failures;
}

std::string RenderStatus(const ClusterStatus& cluster, OutputFormat format, int width, int height) {
  if (format == OutputFormat::kJson) return ClusterStatusToJson(cluster) + "\n";
  if (format != OutputFormat::kTable) {
    return RenderQueryTable(CountsOf(cluster.sweeps), format, width);
  }
  std::string text;
  if (!cluster.problem.empty()) {
    text = Wrap("coordinator: " + Visible(cluster.problem), width, 2) + "\n\n";
  }
  text += WorkersTable(cluster.workers, width) + GoneLine(cluster.workers, width);
  for (const WorkerStatus& worker : cluster.workers) {
    if (worker.problem.empty()) continue;
    text += Wrap(worker.name + ": " + Visible(worker.problem), width, 2) + "\n";
  }
  text += "\n";
  text += cluster.sweeps.empty()
              ? "no sweep has jobs to do (gyre query \"SELECT name FROM sweeps\" lists all)\n"
              : SweepsTable(cluster.sweeps, width);
  std::vector<RunningJobStatus> running;
  for (const SweepStatus& sweep : cluster.sweeps) {
    running.insert(running.end(), sweep.running.begin(), sweep.running.end());
    if (!sweep.paused_itself()) continue;
    text +=
        Wrap(Visible(sweep.name) + " has paused itself: " + Visible(sweep.pause_reason), width, 2) +
        "\n";
  }
  if (running.empty()) return text;
  size_t most = SIZE_MAX;
  if (height > 0) {
    const size_t used = LinesOf(text) + 4;
    most = std::max<size_t>(3, static_cast<size_t>(height) - std::min<size_t>(used, height));
    if (running.size() <= most + 1) most = SIZE_MAX;
  }
  return text + "\n" + LimitedTable(RunningRows(running), width, most, "that run");
}

}  // namespace gyre
