#include "worker/left_reports.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "worker/job_uploads.h"

namespace gyre {

LeftReports::LeftReports(LeftReportsOptions options, CoordinatorClient& client)
    : options_(std::move(options)), client_(client) {
  Find();
}

void LeftReports::Find() {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(options_.folder, error), end;
       !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kSpoolSuffix) found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  for (const std::filesystem::path& path : found) {
    auto spool = Spool::Open(path, options_.spool_bytes);
    if (!spool.ok()) {
      const std::string aside = path.string() + ".damaged";
      std::filesystem::rename(path, aside, error);
      LogError(spool.status().message() + "; it is put aside as " + aside);
      continue;
    }
    SpoolSummary summary = (*spool)->summary();
    LogInfo(ToString((*spool)->attempt()) + ": an earlier process has left reports up to step " +
            std::to_string(summary.step) + (summary.outcome ? " and its outcome" : ""));
    options_.files->Keep((*spool)->attempt().job_id, summary.checkpoints);
    const MutexLock lock(mutex_);
    left_.push_back({.spool = *std::move(spool), .summary = std::move(summary)});
  }
}

void LeftReports::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(std::move(stop)); });
}

LeftReports::~LeftReports() {
  thread_.request_stop();
  const MutexLock lock(mutex_);
  for (Left& left : left_) {
    if (left.uploader != nullptr) left.uploader->Leave();
  }
}

std::vector<LeftBehind> LeftReports::Offer() const {
  const MutexLock lock(mutex_);
  std::vector<LeftBehind> offered;
  for (const Left& left : left_) {
    if (left.dropped) continue;
    offered.push_back({left.spool->attempt(), left.summary.step, left.summary.outcome});
  }
  return offered;
}

void LeftReports::Told(const std::vector<LeaseDesire>& desires) {
  for (const LeaseDesire& desire : desires) Obey(desire);
  const MutexLock lock(mutex_);
  for (const LeaseDesire& desire : desires) {
    for (Left& left : left_) left.wanted |= left.spool->attempt() == desire.attempt;
  }
  changed_.NotifyAll();
}

std::vector<HeldLease> LeftReports::Held() const {
  const MutexLock lock(mutex_);
  std::vector<HeldLease> held;
  for (const Left& left : left_) {
    if (!left.wanted || left.dropped) continue;
    held.push_back({left.spool->attempt(), {.step = left.summary.step}, left.summary.outcome});
  }
  return held;
}

void LeftReports::Obey(const LeaseDesire& desire) {
  if (desire.desire != Desire::kDrop) return;
  const MutexLock lock(mutex_);
  for (Left& left : left_) {
    if (left.spool->attempt() != desire.attempt || std::exchange(left.dropped, true)) continue;
    LogWarning(ToString(desire.attempt) +
               ": what an earlier process has left of it comes too late" +
               (desire.why.empty() ? "" : " (" + desire.why + ")"));
    if (left.uploader != nullptr) left.uploader->Drop();
  }
  changed_.NotifyAll();
}

void LeftReports::Run(std::stop_token stop) {
  while (Left* left = Next(stop)) Deliver(*left);
}

// The first that something is to be done about; null: it is over.
LeftReports::Left* LeftReports::Next(std::stop_token stop) {
  MutexLock lock(mutex_);
  auto found = left_.end();
  changed_.Wait(mutex_, stop, [&]() GYRE_REQUIRES(mutex_) {
    found = std::find_if(left_.begin(), left_.end(),
                         [](const Left& left) { return left.wanted || left.dropped; });
    return found != left_.end() || left_.empty();
  });
  if (stop.stop_requested() || found == left_.end()) return nullptr;
  if (!found->dropped) {
    UploaderOptions uploads = UploadsOf(options_.files, found->spool->attempt().job_id);
    uploads.on_unregistered = options_.on_unregistered;
    uploads.spool = found->spool;
    found->uploader =
        std::make_unique<Uploader>(found->spool->attempt(), client_, std::move(uploads));
  }
  return &*found;
}

void LeftReports::Deliver(Left& left) {
  const AttemptId attempt = left.spool->attempt();
  const std::string name = ToString(attempt) + ": what an earlier process has left of it is ";
  Status delivered = Cancelled("dropped");
  if (left.uploader == nullptr) {
    left.spool->Remove();
  } else {
    AttemptEnd lost{.outcome = Outcome::kLost, .step = left.summary.step};
    lost.error = Unavailable("its worker ended while the coordinator was away");
    delivered = left.uploader->Finish(lost);
    delivered.ok() ? LogInfo(name + "delivered")
                   : LogWarning(name + "not delivered: " + delivered.message());
  }
  std::unique_ptr<Uploader> uploader;
  {
    const MutexLock lock(mutex_);
    uploader = std::move(left.uploader);
    left_.erase(std::find_if(left_.begin(), left_.end(),
                             [&](const Left& other) { return &other == &left; }));
  }
  uploader.reset();  // outside the lock: it waits for its threads
  options_.files->Ended(attempt.job_id, /*may_go_on=*/!delivered.ok());
}

}  // namespace gyre
