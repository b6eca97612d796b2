#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/text_width.h"
#include "results/numbers.h"

namespace gyre {
namespace {

constexpr int kIndent = 2;
constexpr int kNarrowestBar = 8, kWidestBar = 30;
constexpr int kNarrowestName = 16;

std::string JobName(const std::string& variant, uint64_t seed) {
  return Visible(variant) + " seed " + std::to_string(seed);
}

/// What an event's details say of its job.
struct EventText {
  std::string job, error;

  explicit EventText(const WatchedEvent& event) {
    const auto details = nlohmann::json::parse(event.details, nullptr, /*allow_exceptions=*/false);
    job = "job " + std::to_string(event.job_id);
    if (!details.is_object()) return;
    if (details.contains("variant") && details["variant"].is_string() && details.contains("seed") &&
        details["seed"].is_number()) {
      job = JobName(details["variant"].get<std::string>(), details["seed"].get<uint64_t>());
    }
    if (details.contains("error") && details["error"].is_string()) {
      error = ": " + Visible(details["error"].get<std::string>());
    }
  }
};

std::string Sentence(const WatchedEvent& event) {
  const EventText text(event);
  const std::string again =
      event.attempt > 1 ? " again, attempt " + std::to_string(event.attempt) : "";
  if (event.kind == "attempt_leased") return text.job + " started" + again;
  if (event.kind == "attempt_lost") return text.job + " lost its worker, and will be resumed";
  if (event.kind == "attempt_failed") return text.job + " attempt failed" + text.error;
  if (event.kind == "job_succeeded") return text.job + " succeeded";
  if (event.kind == "job_failed") return text.job + " FAILED" + text.error;
  if (event.kind == "job_canceled") return text.job + " canceled";
  return "";
}

bool ChangesCounts(const std::string& kind) {
  return kind.starts_with("job_") || kind.starts_with("sweep_") || kind == "attempt_leased";
}

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

}  // namespace

SweepProgress::SweepProgress(std::vector<SweepStatus> sweeps) : sweeps_(std::move(sweeps)) {
  for (const SweepStatus& sweep : sweeps_) {
    last_event_id_ =
        last_event_id_ == 0 ? sweep.last_event_id : std::min(last_event_id_, sweep.last_event_id);
  }
}

std::vector<std::string> SweepProgress::FirstLines() const {
  std::vector<std::string> lines;
  for (const SweepStatus& sweep : sweeps_) {
    for (const RunningJobStatus& job : sweep.running) {
      lines.push_back(sweep.name + ": " + JobName(job.variant, job.seed) + " is running");
    }
  }
  return lines;
}

void SweepProgress::Refresh(const SweepStatus& sweep) {
  for (SweepStatus& known : sweeps_) {
    if (known.id == sweep.id) known = sweep;
  }
}

bool SweepProgress::OnEvent(const WatchedEvent& event, std::vector<std::string>* lines) {
  if (event.kind == "progress") {
    progress_[event.progress.job_id] = event.progress;
    return false;
  }
  if (event.id <= last_event_id_) return false;
  last_event_id_ = event.id;
  const SweepStatus* sweep = Find(event.sweep_id);
  if (sweep == nullptr) return false;
  if (event.kind.starts_with("job_") || event.kind == "attempt_lost") progress_.erase(event.job_id);
  if (const std::string sentence = Sentence(event); !sentence.empty()) {
    lines->push_back(sweep->name + ": " + sentence);
  }
  return ChangesCounts(event.kind);
}

bool SweepProgress::ended() const {
  return std::all_of(sweeps_.begin(), sweeps_.end(),
                     [](const SweepStatus& sweep) { return sweep.ended(); });
}

bool SweepProgress::caught_up() const {
  return std::all_of(sweeps_.begin(), sweeps_.end(), [this](const SweepStatus& sweep) {
    return sweep.last_event_id <= last_event_id_;
  });
}

const SweepStatus* SweepProgress::Find(int64_t sweep_id) const {
  for (const SweepStatus& sweep : sweeps_) {
    if (sweep.id == sweep_id) return &sweep;
  }
  return nullptr;
}

std::vector<RunningJobStatus> SweepProgress::Running(const SweepStatus& sweep) const {
  std::vector<RunningJobStatus> running = sweep.running;
  for (RunningJobStatus& job : running) {
    const auto latest = progress_.find(job.job_id);
    if (latest != progress_.end() && latest->second.tokens >= job.tokens) job = latest->second;
  }
  return running;
}

std::vector<std::string> SweepProgress::Lines(int width, int height) const {
  std::vector<std::string> lines;
  for (const SweepStatus& sweep : sweeps_) {
    const std::vector<RunningJobStatus> running = Running(sweep);
    lines.push_back(SweepLine(sweep, running, width));
    int name_width = 0;
    for (const RunningJobStatus& job : running) {
      name_width = std::max(name_width, DisplayWidth(JobName(job.variant, job.seed)));
    }
    for (const RunningJobStatus& job : running) lines.push_back(JobLine(job, name_width, width));
  }
  if (height > 0 && lines.size() > static_cast<size_t>(height)) {
    const size_t hidden = lines.size() - static_cast<size_t>(height) + 1;
    lines.resize(static_cast<size_t>(height) - 1);
    lines.push_back("  ... and " + std::to_string(hidden) + " more");
  }
  return lines;
}

std::string SweepLine(const SweepStatus& sweep, const std::vector<RunningJobStatus>& running,
                      int width) {
  double speed = 0;
  int known = 0;  // jobs that have said how fast they are
  for (const RunningJobStatus& job : running) {
    speed += job.tokens_per_second;
    if (job.tokens_per_second > 0) ++known;
  }
  std::string rest = "  " + Counts(sweep.jobs);
  if (known > 0) {
    const double all = speed / known * static_cast<double>(running.size());
    const int64_t left = std::max<int64_t>(0, sweep.tokens_budget - sweep.tokens_done);
    rest += ", " + FormatCount(speed) + " tokens/s, ETA " +
            FormatDuration(static_cast<int64_t>(std::ceil(static_cast<double>(left) / all)));
  }
  const int room = std::max(kNarrowestName, width - DisplayWidth(rest));
  return Shorten(Shorten(sweep.name, room) + rest, width);
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
  line += PadRight(Shorten(JobName(job.variant, job.seed), room), std::min(name_width, room));
  const int bar = std::min(room - name_width - 4, kWidestBar);
  if (bar >= kNarrowestBar) line += "  " + Bar(share, bar);
  for (const std::string& number : numbers) line += number;
  return Shorten(line, width);
}

}  // namespace gyre
