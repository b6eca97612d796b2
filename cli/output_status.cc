#include "cli/output_status.h"

#include "cli/output_table.h"
#include "cli/text_width.h"
#include "results/numbers.h"

namespace gyre {
namespace {

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

std::string RunningTable(const std::vector<RunningJobStatus>& running, int width) {
  TextTable table;
  table.columns = {{"job", true},        {"variant"},         {"seed", true},
                   {"tokens", true},     {"loss", true},      {"tokens/s", true, 1},
                   {"attempt", true, 2}, {"worker", false, 3}};
  for (const RunningJobStatus& job : running) {
    table.rows.push_back({std::to_string(job.job_id), job.variant, std::to_string(job.seed),
                          Tokens(job.tokens) + " of " + Tokens(job.tokens_budget),
                          job.loss ? FormatFixed(*job.loss, 3) : "-",
                          job.tokens_per_second > 0 ? FormatCount(job.tokens_per_second) : "-",
                          std::to_string(job.attempt), job.worker});
  }
  return RenderTable(table, width);
}

std::string Failures(const std::vector<FailedJobStatus>& failures, int width) {
  std::string text;
  for (const FailedJobStatus& job : failures) {
    text += Wrap("job " + std::to_string(job.job_id) + ", " + Visible(job.variant) + " seed " +
                     std::to_string(job.seed) + ", failed: " + Visible(job.error),
                 width, 2) +
            "\n";
  }
  return text;
}

std::string WorkersTable(const std::vector<WorkerStatus>& workers, int width) {
  TextTable table;
  table.columns = {{"worker"},
                   {"state"},
                   {"slots", true},
                   {"busy", true},
                   {"cpus", true, 1},
                   {"version", false, 3},
                   {"last seen", false, 2}};
  for (const WorkerStatus& worker : workers) {
    table.rows.push_back({worker.name, worker.state, std::to_string(worker.slots),
                          std::to_string(worker.busy), std::to_string(worker.cpus), worker.version,
                          worker.last_seen_at});
  }
  return RenderTable(table, width);
}

}  // namespace

std::string RenderStatus(const SweepStatus& sweep, OutputFormat format, int width) {
  if (format == OutputFormat::kJson) return SweepStatusToJson(sweep) + "\n";
  if (format != OutputFormat::kTable) return RenderQueryTable(CountsOf({sweep}), format, width);
  std::string text = SweepsTable({sweep}, width);
  if (!sweep.question.empty()) text = Wrap(Visible(sweep.question), width, 2) + "\n\n" + text;
  if (!sweep.waiting.empty())
    text += "\n" + Wrap("waiting: " + Visible(sweep.waiting), width, 2) + "\n";
  if (!sweep.running.empty()) text += "\n" + RunningTable(sweep.running, width);
  if (!sweep.failures.empty()) text += "\n" + Failures(sweep.failures, width);
  return text;
}

std::string RenderStatus(const ClusterStatus& cluster, OutputFormat format, int width) {
  if (format == OutputFormat::kJson) return ClusterStatusToJson(cluster) + "\n";
  if (format != OutputFormat::kTable) {
    return RenderQueryTable(CountsOf(cluster.sweeps), format, width);
  }
  std::string text =
      cluster.workers.empty() ? "no workers\n" : WorkersTable(cluster.workers, width);
  for (const WorkerStatus& worker : cluster.workers) {
    if (worker.problem.empty()) continue;
    text += Wrap(worker.name + ": " + Visible(worker.problem), width, 2) + "\n";
  }
  text += "\n";
  text += cluster.sweeps.empty() ? "no sweep has jobs to do\n" : SweepsTable(cluster.sweeps, width);
  std::vector<RunningJobStatus> running;
  for (const SweepStatus& sweep : cluster.sweeps) {
    running.insert(running.end(), sweep.running.begin(), sweep.running.end());
  }
  if (!running.empty()) text += "\n" + RunningTable(running, width);
  return text;
}

}  // namespace gyre
