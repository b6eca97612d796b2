#pragma once

// What one attempt has to say while the coordinator does not answer, on this machine's disk: a file
// to which reports are appended and from which they are read in the same order, so that neither a
// long outage nor the end of this process loses them. It is bounded: an outcome always has room,
// for anything else it may be full.
//
// A record is its length and hash as text, and a SpooledReport (gyre/v1/spool.proto). What a crash
// has left half written at the end was never said to be kept, and is cut off. Reports that were
// answered stay in the file until all were: Clear() begins anew. Sending one twice is harmless.
//
// Threads: one appends, one reads and clears; clearing and appending not at the same time.

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "worker/coordinator_client.h"

namespace gyre {

using Report = std::variant<PointBatch, CheckpointReport, AttemptEnd>;

/// What the reports in a spool come to.
struct SpoolSummary {
  int64_t last_sequence = 0;
  int64_t step = 0;                      // the latest
  std::optional<Outcome> outcome;        // none: the attempt did not come so far
  std::vector<std::string> checkpoints;  // hashes
};

class Spool {
 public:
  /// An empty one, of which there is no file before the first report.
  Spool(std::filesystem::path path, AttemptId attempt, int64_t max_bytes);
  /// What an earlier process has left; all of it is unread. DATA_LOSS: not even whose it is can be
  /// read.
  static Result<std::unique_ptr<Spool>> Open(const std::filesystem::path& path, int64_t max_bytes);
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  const AttemptId& attempt() const { return attempt_; }
  const std::filesystem::path& path() const { return path_; }
  const SpoolSummary& summary() const { return summary_; }

  /// OK when it is on disk. RESOURCE_EXHAUSTED: this spool is full, or the disk; nothing of it is
  /// kept.
  Status Append(const Report& report);

  bool HasUnread() const;
  /// The first that is unread; from then on it is not. DATA_LOSS: the disk gives back something
  /// else.
  Result<Report> Next();
  /// What was appended is known without reading.
  void SkipUnread();

  /// Forgets all reports: every one was answered.
  Status Clear();
  /// Nothing is left of it, also on disk.
  void Remove();

 private:
  Status Create();
  Status Write(const std::string& record, int64_t offset) const;
  Result<std::string> ReadRecord(int64_t* offset) const;
  void Count(const Report& report);

  const std::filesystem::path path_;
  AttemptId attempt_;
  const int64_t max_bytes_;
  int fd_ = -1;
  SpoolSummary summary_;  // of who appends
  mutable Mutex mutex_;
  // Offsets: of the first report, the first unread one, the end.
  int64_t begin_ GYRE_GUARDED_BY(mutex_) = 0;
  int64_t read_ GYRE_GUARDED_BY(mutex_) = 0;
  int64_t end_ GYRE_GUARDED_BY(mutex_) = 0;
};

inline constexpr char kSpoolSuffix[] = ".spool";
/// "job-7-attempt-2-EPOCH.spool".
std::string SpoolFileName(const AttemptId& attempt);

}  // namespace gyre
