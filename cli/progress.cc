#include "cli/progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/progress_lines.h"
#include "cli/text_width.h"

namespace gyre {
namespace {

constexpr int kSummaryWidth = 200;

std::string JobName(const std::string& variant, uint64_t seed) {
  return Visible(variant) + " seed " + std::to_string(seed);
}

/// What an event's details say.
struct EventText {
  std::string job, error, reason, name;

  explicit EventText(const WatchedEvent& event) {
    const auto details = nlohmann::json::parse(event.details, nullptr, /*allow_exceptions=*/false);
    job = "job " + std::to_string(event.job_id);
    if (!details.is_object()) return;
    const auto text = [&details](const char* key) {
      const auto found = details.find(key);
      return found != details.end() && found->is_string() ? Visible(found->get<std::string>()) : "";
    };
    if (details.contains("variant") && details["variant"].is_string() && details.contains("seed") &&
        details["seed"].is_number()) {
      job = JobName(details["variant"].get<std::string>(), details["seed"].get<uint64_t>());
    }
    error = text("error");
    if (!error.empty()) error = ": " + error;
    reason = text("reason");
    name = text("name");
  }
};

std::string Sentence(const WatchedEvent& event) {
  const EventText text(event);
  const std::string again =
      event.attempt > 1 ? " again, attempt " + std::to_string(event.attempt) : "";
  if (event.kind == "attempt_leased") return text.job + " started" + again;
  if (event.kind == "attempt_lost") return text.job + " lost its worker, and will be resumed";
  if (event.kind == "attempt_suspected") {
    return "nothing is heard of the worker of " + text.job +
           "; if that stays so, the job goes on elsewhere";
  }
  if (event.kind == "attempt_back") return "the worker of " + text.job + " is heard of again";
  if (event.kind == "attempt_reattached") {
    return text.job + ": a new process of its worker delivers what it had done";
  }
  if (event.kind == "nondeterminism") {
    return text.job +
           " came to another value than before under the same fingerprint; gyre explain "
           "tells more";
  }
  if (event.kind == "attempt_failed") return text.job + " attempt failed" + text.error;
  if (event.kind == "job_succeeded") return text.job + " succeeded";
  if (event.kind == "job_failed") return text.job + " FAILED" + text.error;
  if (event.kind == "job_stopped_early") return text.job + " stopped early by " + text.reason;
  if (event.kind == "job_canceled") return text.job + " canceled";
  if (event.kind == "job_paused") return text.job + " is paused";
  if (event.kind == "job_resumed") return text.job + " is resumed";
  if (event.kind == "sweep_paused") {
    return text.reason.empty() ? "paused" : "has paused itself: " + text.reason;
  }
  if (event.kind == "sweep_resumed") return "resumed";
  if (event.kind == "sweep_retried") return "failed and canceled jobs are queued anew";
  if (event.kind == "sweep_canceled") return "canceled";
  return "";
}

std::string WorkerSentence(const WatchedEvent& event) {
  const std::string worker = "worker " + EventText(event).name;
  if (event.kind == "worker_gone") return worker + " is gone: it has been silent for too long";
  if (event.kind == "worker_back") return worker + " is back";
  return "";
}

bool ChangesCounts(const std::string& kind) {
  return kind.starts_with("job_") || kind.starts_with("sweep_") || kind == "attempt_leased";
}

size_t Count(const std::vector<std::string>& lines) { return lines.size(); }

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

void SweepProgress::Refresh(const ClusterStatus& cluster, bool all_sweeps) {
  workers_ = cluster.workers;
  if (!all_sweeps) return;
  for (const SweepStatus& sweep : cluster.sweeps) {
    if (Find(sweep.id) == nullptr) sweeps_.push_back(sweep);
    Refresh(sweep);
  }
}

bool SweepProgress::OnEvent(const WatchedEvent& event, std::vector<std::string>* lines) {
  if (event.kind == "progress") {
    progress_[event.progress.job_id] = event.progress;
    return false;
  }
  if (event.id <= last_event_id_) return false;
  last_event_id_ = event.id;
  if (event.kind.starts_with("worker_")) {
    if (std::string line = WorkerSentence(event); !line.empty()) lines->push_back(std::move(line));
    return false;
  }
  const SweepStatus* sweep = Find(event.sweep_id);
  if (sweep == nullptr) return event.kind == "sweep_submitted";
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

bool SweepProgress::settled() const {
  return std::all_of(sweeps_.begin(), sweeps_.end(), [](const SweepStatus& sweep) {
    return sweep.ended() || (sweep.paused_itself() && sweep.jobs.running == 0);
  });
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

SweepProgress::Section SweepProgress::Draw(const SweepStatus& sweep, int width) const {
  const std::vector<RunningJobStatus> running = Running(sweep);
  Section section;
  section.head = {SweepLine(sweep, running, width)};
  if (!sweep.ended()) section.head.push_back(StateLine(sweep, running, width));
  for (std::string& line : TroubleLines(sweep, width)) section.head.push_back(std::move(line));
  int name_width = 0;
  for (const RunningJobStatus& job : running) {
    name_width = std::max(name_width, DisplayWidth(JobName(job.variant, job.seed)));
  }
  for (const RunningJobStatus& job : running) {
    section.jobs.push_back(JobLine(job, name_width, width));
  }
  section.tail = FailureLines(sweep.failures, width);
  return section;
}

std::vector<std::string> SweepProgress::Lines(int width, int height) const {
  std::vector<Section> sections;
  std::vector<std::string> workers = WorkerLines(workers_, width);
  size_t fixed = Count(workers), with_jobs = 0;
  for (const SweepStatus& sweep : sweeps_) {
    Section& section = sections.emplace_back(Draw(sweep, width));
    fixed += Count(section.head) + Count(section.tail);
    if (!section.jobs.empty()) ++with_jobs;
  }
  if (sweeps_.empty()) workers.insert(workers.begin(), "no sweep has jobs to do");
  const auto limit = static_cast<size_t>(std::max(height, 0));
  size_t room = limit > fixed ? limit - fixed : 0;
  std::vector<std::string> lines;
  for (Section& section : sections) {
    std::vector<std::string>& jobs = section.jobs;
    if (limit > 0 && !jobs.empty()) {
      const size_t share = room / with_jobs--;
      if (jobs.size() > share) {
        const size_t hidden = jobs.size() - std::min(jobs.size(), share > 0 ? share - 1 : 0);
        jobs.resize(jobs.size() - hidden);
        if (share > 0) {
          jobs.push_back(Shorten("  ... and " + std::to_string(hidden) + " more that run", width));
        }
      }
      room -= std::min(room, jobs.size());
    }
    for (auto* part : {&section.head, &section.jobs, &section.tail}) {
      lines.insert(lines.end(), part->begin(), part->end());
    }
  }
  lines.insert(lines.end(), workers.begin(), workers.end());
  if (limit > 0 && lines.size() > limit) {
    const size_t hidden = lines.size() - limit + 1;
    lines.resize(limit - 1);
    lines.push_back(Shorten("  ... and " + std::to_string(hidden) + " more", width));
  }
  return lines;
}

std::vector<std::string> SweepProgress::Summary() const {
  std::vector<std::string> lines;
  for (const SweepStatus& sweep : sweeps_) {
    if (!sweep.ended()) lines.push_back(SweepLine(sweep, Running(sweep), kSummaryWidth));
  }
  return lines;
}

}  // namespace gyre
