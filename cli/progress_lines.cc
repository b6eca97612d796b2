#include "cli/progress_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "cli/text_width.h"
#include "results/failure_groups.h"
#include "results/numbers.h"

namespace gyre {
namespace {

constexpr int kIndent = 2;
constexpr int kNarrowestBar = 8, kWidestBar = 30;
constexpr int kWidestStateBar = 60;
constexpr int kNarrowestName = 16;
constexpr size_t kShownGroups = 3, kShownJobs = 5;

std::string Bar(double share, int width) {
  const int filled = static_cast<int>(std::floor(std::clamp(share, 0.0, 1.0) * width));
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(width - filled), '-') + "]";
}

std::string Percent(double share) {
  const int percent = static_cast<int>(std::floor(std::clamp(share, 0.0, 1.0) * 100));
  return PadLeft(std::to_string(percent) + "%", 4);
}

double Share(int64_t done, int64_t budget) {
  return budget > 0 ? static_cast<double>(done) / static_cast<double>(budget) : 0;
}

std::string Counts(const JobCounts& jobs) {
  std::string text = std::to_string(jobs.ended()) + " of " + std::to_string(jobs.total()) + " done";
  const auto add = [&text](int count, const char* what) {
    if (count > 0) text += ", " + std::to_string(count) + what;
  };
  add(jobs.failed, " failed");
  add(jobs.canceled, " canceled");
  add(jobs.stopped_early, " stopped early");
  add(jobs.running, " running");
  return text;
}

/// A sign for every job or, where they are more than `width`, shares of it; whatever there is at
/// least one of has a sign.
std::string StateBar(const JobCounts& jobs, int width) {
  const std::array<std::pair<int, char>, 5> states = {{{jobs.succeeded, '#'},
                                                       {jobs.running, '>'},
                                                       {jobs.queued, '.'},
                                                       {jobs.canceled + jobs.stopped_early, '-'},
                                                       {jobs.failed, 'x'}}};
  const int total = jobs.total();
  width = std::min(width, total);
  std::array<int, 5> signs{};
  for (size_t i = 0; i < states.size(); ++i) {
    const int64_t share = int64_t{states[i].first} * width / std::max(total, 1);
    signs[i] = states[i].first > 0 ? std::max(1, static_cast<int>(share)) : 0;
  }
  // What rounding gave or took, the longest stretch pays.
  for (int sum = std::accumulate(signs.begin(), signs.end(), 0); sum != width;) {
    auto longest = std::max_element(signs.begin(), signs.end());
    if (sum > width && *longest <= 1) break;
    *longest += sum < width ? 1 : -1;
    sum += sum < width ? 1 : -1;
  }
  std::string bar = "[";
  for (size_t i = 0; i < states.size(); ++i) {
    bar.append(static_cast<size_t>(signs[i]), states[i].second);
  }
  return bar + "]";
}

std::string JobNumbers(const std::vector<FailedJobStatus>& jobs) {
  std::string text = jobs.size() == 1 ? "job " : "jobs ";
  for (size_t i = 0; i < jobs.size() && i < kShownJobs; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(jobs[i].job_id);
  }
  return jobs.size() > kShownJobs ? text + ", ..." : text;
}

std::string Count(int count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string SweepLine(const SweepStatus& sweep, const std::vector<RunningJobStatus>& running,
                      int width) {
  double speed = 0;
  int known = 0;  // jobs that have said how fast they are
  for (const RunningJobStatus& job : running) {
    speed += job.tokens_per_second;
    if (job.tokens_per_second > 0) ++known;
  }
  std::string rest = "  " + Counts(sweep.jobs);
  if (sweep.intent == "PAUSED") rest += ", paused";
  if (known > 0) {
    const double all = speed / known * static_cast<double>(running.size());
    const int64_t left = std::max<int64_t>(0, sweep.tokens_budget - sweep.tokens_done);
    rest += ", " + FormatCount(speed) + " tokens/s, ETA " +
            FormatDuration(static_cast<int64_t>(std::ceil(static_cast<double>(left) / all)));
  }
  const int room = std::max(kNarrowestName, width - DisplayWidth(rest));
  return Shorten(Shorten(Visible(sweep.name), room) + rest, width);
}

std::string StateLine(const SweepStatus& sweep, const std::vector<RunningJobStatus>& running,
                      int width) {
  std::string rest = "  " + Percent(Share(sweep.tokens_done, sweep.tokens_budget)) + " of " +
                     FormatCount(static_cast<double>(sweep.tokens_budget)) + " tokens";
  double loss = 0;
  int known = 0;
  for (const RunningJobStatus& job : running) {
    if (!job.loss) continue;
    loss += *job.loss;
    ++known;
  }
  if (known > 0) rest += ", loss " + FormatFixed(loss / known, 3);
  if (known > 1) rest += " on average";
  const int room = std::min(kWidestStateBar, width - kIndent - DisplayWidth(rest) - 2);
  std::string line(kIndent, ' ');
  if (room >= kNarrowestBar) line += StateBar(sweep.jobs, room);
  return Shorten(line + rest, width);
}

std::vector<std::string> TroubleLines(const SweepStatus& sweep, int width) {
  std::vector<std::string> lines;
  const std::string indent(kIndent, ' ');
  const auto add = [&](const std::string& text) {
    lines.push_back(Shorten(indent + Visible(text), width));
  };
  if (!sweep.problem.empty()) add("coordinator: " + sweep.problem);
  if (sweep.paused_itself()) {
    add("it has paused itself: " + sweep.pause_reason);
  } else if (sweep.intent == "PAUSED") {
    add("gyre resume " + sweep.name + " goes on");
  }
  if (!sweep.waiting.empty()) add("waiting: " + sweep.waiting);
  return lines;
}

std::string JobLine(const RunningJobStatus& job, int name_width, int width) {
  const double share = Share(job.tokens, job.tokens_budget);
  const std::string loss = job.loss ? FormatFixed(*job.loss, 3) : "-";
  const std::string speed = job.tokens_per_second > 0 ? FormatCount(job.tokens_per_second) : "-";
  // What does not fit beside the name goes, the last first.
  std::vector<std::string> numbers = {"  " + Percent(share), "  loss " + PadLeft(loss, 6),
                                      "  " + PadLeft(speed, 5) + " tokens/s"};
  int room = width - kIndent;
  for (const std::string& number : numbers) room -= DisplayWidth(number);
  while (numbers.size() > 1 && room < std::min(name_width, kNarrowestName)) {
    room += DisplayWidth(numbers.back());
    numbers.pop_back();
  }
  std::string line(kIndent, ' ');
  const std::string name = Visible(job.variant) + " seed " + std::to_string(job.seed);
  line += PadRight(Shorten(name, room), std::min(name_width, room));
  const int bar = std::min(room - name_width - 4, kWidestBar);
  if (bar >= kNarrowestBar) line += "  " + Bar(share, bar);
  for (const std::string& number : numbers) line += number;
  return Shorten(line, width);
}

std::vector<std::string> FailureLines(const std::vector<FailedJobStatus>& failures, int width) {
  std::vector<std::string> lines;
  const std::vector<FailureGroup> groups = GroupFailures(failures);
  for (size_t i = 0; i < groups.size() && i < kShownGroups; ++i) {
    const std::string jobs = " (" + JobNumbers(groups[i].jobs) + ")";
    const std::string text = std::string(kIndent, ' ') + std::to_string(groups[i].jobs.size()) +
                             " failed: " + Visible(groups[i].error);
    lines.push_back(Shorten(Shorten(text, width - DisplayWidth(jobs)) + jobs, width));
  }
  if (groups.size() > kShownGroups) {
    lines.push_back(
        Shorten("  ... and " + Count(static_cast<int>(groups.size() - kShownGroups), "other kind") +
                    " of failure",
                width));
  }
  return lines;
}

std::vector<std::string> WorkerLines(const std::vector<WorkerStatus>& workers, int width) {
  int active = 0, slots = 0, busy = 0;
  std::vector<std::string> lines(1);
  for (const WorkerStatus& worker : workers) {
    if (worker.state != "ACTIVE") continue;
    ++active;
    slots += worker.slots;
    busy += worker.busy;
    if (worker.problem.empty()) continue;
    lines.push_back(Shorten("  " + Visible(worker.name) + ": " + Visible(worker.problem), width));
  }
  if (active == 0 || (active == 1 && lines.size() == 1)) return {};
  lines[0] = Shorten(
      Count(active, "worker") + ", " + Count(slots, "slot") + ", " + std::to_string(busy) + " busy",
      width);
  return lines;
}

}  // namespace gyre
