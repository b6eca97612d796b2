#pragma once

// The files of a worker's jobs: what must be here before a trainer starts, and what it leaves
// behind.
//
// Where the coordinator keeps its data sets and objects in a folder that this worker sees (its own
// home on the same machine, or --objects DIR), trainers work in that folder and nothing is sent;
// what is obsolete there is the coordinator's to delete. Otherwise they work in a folder of this
// worker's own, HOME/workers/NAME.home, which holds copies alone: what a job needs is fetched, its
// checkpoints are sent, and what no job needs any more is deleted, so that it does not grow. Text
// that was prepared on this machine is linked there and not fetched.
//
// A full disk is waited out (disk_room.h). All calls from any thread.

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "trainer/config/job_config.h"
#include "worker/disk_room.h"
#include "worker/object_client.h"

namespace gyre {

struct Lease;

class JobFiles {
 public:
  /// `shared` is the folder of --objects, or empty. `client` may be null: then nothing is sent.
  JobFiles(std::filesystem::path home, std::filesystem::path shared, const std::string& worker,
           std::unique_ptr<ObjectClient> client);

  /// What the coordinator calls its folder, each time that it is heard. FAILED_PRECONDITION: it is
  /// not the one of --objects.
  Status SetStore(const std::string& store);
  /// Where trainers read and write.
  std::filesystem::path trainer_home() const;
  /// Whether checkpoints have to be sent, and copies deleted, by this worker.
  bool sends() const;

  /// All that the job reads is here, and whole. CANCELLED: `stop`. NOT_FOUND: the coordinator lacks
  /// a data set; DATA_LOSS: the checkpoint, or it is damaged there. Messages say what to do.
  Status Fetch(const Lease& lease, std::stop_token stop);
  /// The coordinator holds the object. Errors: SendObject's.
  Status Send(const std::string& hash, std::stop_token stop);
  /// A checkpoint of this job is here, and goes when the job has no more use for it.
  void Wrote(int64_t job_id, const std::string& hash);
  /// Deletes this worker's copies that the job has no more use for, and no other job has. Names
  /// that are no hashes are refused with a line in the log.
  void Delete(int64_t job_id, const std::vector<std::string>& hashes);
  /// These checkpoints of an attempt of an earlier process are still needed; as a Fetch for Ended.
  void Keep(int64_t job_id, const std::vector<std::string>& hashes);
  /// The attempt has ended; once for each Fetch. What a job that may go on has left is kept for a
  /// while.
  void Ended(int64_t job_id, bool may_go_on);

  DiskRoom& room() { return room_; }

 private:
  struct JobUse {
    // A lost attempt may end after the next one has begun here.
    int attempts = 0;
    std::set<std::string> objects, datasets;
  };

  Status LookInShared(const Lease& lease) const;
  Status FetchOne(const ObjectRef& ref, std::stop_token stop);
  bool LinkPrepared(const ObjectRef& ref);
  bool UsedLocked(const std::string& object) const GYRE_REQUIRES(mutex_);
  void DropLocked(int64_t job_id) GYRE_REQUIRES(mutex_);
  void TrimDatasetsLocked(int64_t keep_bytes) GYRE_REQUIRES(mutex_);
  void Sweep();

  const std::filesystem::path home_, shared_;
  const ObjectStore copies_;
  const std::unique_ptr<ObjectClient> client_;
  DiskRoom room_;

  mutable Mutex mutex_;
  bool sends_ GYRE_GUARDED_BY(mutex_) = false;
  bool told_ GYRE_GUARDED_BY(mutex_) =
      false;  // the coordinator names its folder, and so deletes by itself
  bool swept_ GYRE_GUARDED_BY(mutex_) = false;  // what an earlier process has left is gone
  std::map<int64_t, JobUse> uses_ GYRE_GUARDED_BY(mutex_);
  std::deque<int64_t> kept_ GYRE_GUARDED_BY(mutex_);  // jobs that may come back, oldest first
  std::set<ObjectRef> whole_
      GYRE_GUARDED_BY(mutex_);  // data sets that were verified by this process
};

}  // namespace gyre
