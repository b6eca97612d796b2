#include "worker/job_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "worker/coordinator_client.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr size_t kKeptJobs = 4;
// Of data sets that no job here reads now, but may soon.
constexpr int64_t kKeptDatasetBytes = int64_t{16} << 30;

fs::path CopiesOf(const fs::path& home, std::string worker) {
  std::replace(worker.begin(), worker.end(), '/', '@');
  return home / "workers" / (worker + ".home");
}

int64_t BytesIn(const fs::path& folder) {
  int64_t bytes = 0;
  std::error_code error, gone;
  if (fs::is_symlink(folder, error)) return 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto size = entry->file_size(gone);
    if (!gone) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

Status NoDataset(const ObjectRef& ref, const std::string& why) {
  return NotFound("the coordinator " + why + " the " + ToString(ref) +
                  "; submit the sweep again with `gyre submit`: that sends what is missing");
}

Status NoCheckpoint(const Lease& lease, const std::string& why) {
  return DataLoss("the coordinator lacks the checkpoint of step " +
                  std::to_string(lease.checkpoint_step) + ", or it is damaged there (" + why +
                  "); the next attempt goes on from the one before it");
}

}  // namespace

JobFiles::JobFiles(fs::path home, fs::path shared, const std::string& worker,
                   std::unique_ptr<ObjectClient> client)
    : home_(std::move(home)),
      shared_(std::move(shared)),
      copies_(CopiesOf(home_, worker)),
      client_(std::move(client)),
      room_(shared_.empty() ? home_ : shared_) {}

Status JobFiles::SetStore(const std::string& store) {
  const ObjectStore here(shared_.empty() ? home_ : shared_);
  const auto identity = here.Identity(/*make=*/false);
  const bool same = store.empty() || (identity.ok() && *identity == store);
  if (!same && !shared_.empty()) {
    return FailedPrecondition("the coordinator does not keep its objects in " + shared_.string() +
                              " (--objects): start both with the same folder, or without");
  }
  bool sweep = false;
  {
    const MutexLock lock(mutex_);
    sends_ = !same && client_ != nullptr;
    told_ = !store.empty();
    sweep = sends_ && !std::exchange(swept_, true);
  }
  if (sweep) Sweep();
  return OkStatus();
}

// What an earlier process of this worker has left: checkpoints of attempts that are over, but for
// those that are still to be told of. What had come of a transfer is gone on with.
void JobFiles::Sweep() {
  std::error_code error;
  const MutexLock lock(mutex_);
  std::vector<fs::path> objects;
  for (fs::directory_iterator entry(copies_.root() / "objects", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!UsedLocked(entry->path().filename().string())) objects.push_back(entry->path());
  }
  for (const fs::path& object : objects) fs::remove_all(object, error);
  TrimDatasetsLocked(kKeptDatasetBytes);
}

bool JobFiles::sends() const {
  const MutexLock lock(mutex_);
  return sends_;
}

fs::path JobFiles::trainer_home() const {
  if (sends()) return copies_.root();
  return shared_.empty() ? home_ : shared_;
}

Status JobFiles::Fetch(const Lease& lease, std::stop_token stop) {
  if (!sends()) return LookInShared(lease);
  const int64_t job_id = lease.attempt.job_id;
  {
    const MutexLock lock(mutex_);
    std::erase(kept_, job_id);
    ++uses_[job_id].attempts;
  }
  const auto job = TrainerJobFromJson(Json::parse(lease.job, nullptr, false));
  if (!job.ok()) return job.status().WithContext("the coordinator's job cannot be read");
  const std::vector<std::string> datasets = DatasetsOf(*job);
  {
    const MutexLock lock(mutex_);
    JobUse& use = uses_[job_id];
    use.datasets.insert(datasets.begin(), datasets.end());
    for (const std::string& hash : {lease.checkpoint_hash, job->initial_weights}) {
      if (!hash.empty()) use.objects.insert(hash);
    }
  }
  for (const std::string& hash : datasets) {
    const ObjectRef ref{ObjectKind::kDataset, hash};
    const Status status = FetchOne(ref, stop);
    if (status.code() == StatusCode::kNotFound) return NoDataset(ref, "does not hold");
    if (status.code() == StatusCode::kDataLoss) return NoDataset(ref, "has damaged files of");
    GYRE_RETURN_IF_ERROR(status);
  }
  if (!job->initial_weights.empty() && lease.checkpoint_hash.empty()) {
    const Status status = FetchOne({ObjectKind::kObject, job->initial_weights}, stop);
    // DATA_LOSS is what a checkpoint is given up for; these have none before them.
    if (status.code() == StatusCode::kNotFound || status.code() == StatusCode::kDataLoss) {
      return NotFound("the weights that training starts from: " + status.message() +
                      "; submit the sweep again with `gyre submit`: that sends them");
    }
    GYRE_RETURN_IF_ERROR(status.WithContext("the weights that training starts from"));
  }
  if (lease.checkpoint_hash.empty()) return OkStatus();
  const Status status = FetchOne({ObjectKind::kObject, lease.checkpoint_hash}, stop);
  if (status.code() != StatusCode::kNotFound && status.code() != StatusCode::kDataLoss)
    return status;
  return NoCheckpoint(lease, status.message());
}

// A folder that is not mounted has lost nothing, and no name either.
Status JobFiles::LookInShared(const Lease& lease) const {
  const ObjectStore here(shared_.empty() ? home_ : shared_);
  if (lease.checkpoint_hash.empty() || here.Has({ObjectKind::kObject, lease.checkpoint_hash}))
    return OkStatus();
  const auto identity = here.Identity(/*make=*/false);
  if (!identity.ok() || identity->empty()) return OkStatus();  // the trainer will say what it finds
  return NoCheckpoint(lease, "it is not in " + here.root().string());
}

// Waits while the disk is full.
Status JobFiles::FetchOne(const ObjectRef& ref, std::stop_token stop) {
  {
    const MutexLock lock(mutex_);
    if (whole_.contains(ref) && copies_.Has(ref)) {
      copies_.Touch(ref);
      return OkStatus();
    }
  }
  if (LinkPrepared(ref)) return OkStatus();
  while (true) {
    const Status status = FetchObject(*client_, ref, copies_, {}, stop);
    if (status.ok() && ref.kind == ObjectKind::kDataset) {
      const MutexLock lock(mutex_);
      whole_.insert(ref);
      TrimDatasetsLocked(kKeptDatasetBytes);
    }
    if (status.code() != StatusCode::kResourceExhausted) return status;
    {
      const MutexLock lock(mutex_);
      TrimDatasetsLocked(0);
    }
    room_.Filled(status.message());
    GYRE_RETURN_IF_ERROR(room_.AwaitRoom(stop));
  }
}

bool JobFiles::LinkPrepared(const ObjectRef& ref) {
  const ObjectStore prepared(home_);
  if (ref.kind != ObjectKind::kDataset || copies_.Has(ref) || !prepared.Has(ref)) return false;
  if (!prepared.Verify(ref).ok() || !MakeFolders(copies_.PathOf(ref).parent_path()).ok())
    return false;
  std::error_code error;
  const MutexLock lock(mutex_);
  if (copies_.Has(ref)) return false;
  fs::remove_all(copies_.PathOf(ref), error);
  fs::create_directory_symlink(prepared.PathOf(ref), copies_.PathOf(ref), error);
  if (!error) whole_.insert(ref);
  return !error;
}

Status JobFiles::Send(const std::string& hash, std::stop_token stop) {
  return SendObject(*client_, {ObjectKind::kObject, hash}, copies_, {}, std::move(stop));
}

void JobFiles::Keep(int64_t job_id, const std::vector<std::string>& hashes) {
  const MutexLock lock(mutex_);
  JobUse& use = uses_[job_id];
  ++use.attempts;
  use.objects.insert(hashes.begin(), hashes.end());
}

void JobFiles::Wrote(int64_t job_id, const std::string& hash) {
  const MutexLock lock(mutex_);
  if (sends_) uses_[job_id].objects.insert(hash);
}

bool JobFiles::UsedLocked(const std::string& object) const {
  return std::any_of(uses_.begin(), uses_.end(),
                     [&](const auto& job) { return job.second.objects.contains(object); });
}

// Two jobs that come to the same bits have one copy.
void JobFiles::Delete(int64_t job_id, const std::vector<std::string>& hashes) {
  const MutexLock lock(mutex_);
  if (told_ && !sends_) return;  // the coordinator's folder, and its business
  const ObjectStore store = sends_ ? copies_ : ObjectStore(home_);
  const auto use = uses_.find(job_id);
  for (const std::string& hash : hashes) {
    if (use != uses_.end()) use->second.objects.erase(hash);
    if (UsedLocked(hash)) continue;
    const Status status = store.Remove({ObjectKind::kObject, hash});
    if (!status.ok()) LogWarning("an obsolete object is left alone: " + status.message());
  }
}

void JobFiles::Ended(int64_t job_id, bool may_go_on) {
  const MutexLock lock(mutex_);
  const auto use = uses_.find(job_id);
  if (use == uses_.end() || --use->second.attempts > 0) return;
  if (!may_go_on) return DropLocked(job_id);
  kept_.push_back(job_id);
  while (kept_.size() > kKeptJobs) {
    DropLocked(kept_.front());
    kept_.pop_front();
  }
}

void JobFiles::DropLocked(int64_t job_id) {
  const JobUse use = std::move(uses_[job_id]);
  uses_.erase(job_id);
  for (const std::string& hash : use.objects) {
    if (!UsedLocked(hash) && IsObjectHash(hash)) (void)copies_.Remove({ObjectKind::kObject, hash});
  }
  TrimDatasetsLocked(kKeptDatasetBytes);
}

// Deletes copies of data sets that no job uses, the longest unused first, down to so many bytes.
void JobFiles::TrimDatasetsLocked(int64_t keep_bytes) {
  struct Unused {
    fs::file_time_type used_at;
    ObjectRef ref;
    int64_t bytes = 0;
  };
  std::vector<Unused> unused;
  int64_t total = 0;
  std::error_code error, gone;
  for (fs::directory_iterator entry(copies_.root() / "datasets", error), end;
       !error && entry != end; entry.increment(error)) {
    const ObjectRef ref{ObjectKind::kDataset, entry->path().filename().string()};
    const bool used = std::any_of(uses_.begin(), uses_.end(), [&](const auto& job) {
      return job.second.datasets.contains(ref.hash);
    });
    if (used || !IsObjectHash(ref.hash)) continue;
    unused.push_back({fs::last_write_time(entry->path(), gone), ref, BytesIn(entry->path())});
    total += unused.back().bytes;
  }
  std::sort(unused.begin(), unused.end(),
            [](const auto& a, const auto& b) { return a.used_at < b.used_at; });
  for (const Unused& dataset : unused) {
    if (total <= keep_bytes) return;
    whole_.erase(dataset.ref);
    if (copies_.Remove(dataset.ref).ok()) total -= dataset.bytes;
  }
}

}  // namespace gyre
