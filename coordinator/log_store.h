#pragma once

// The logs of attempts as files: GYRE_HOME/logs/DATABASE/job-N/attempt-M/, where DATABASE is the
// random id of the results database, so that the jobs of two databases never share a file. A log
// is kept in segments, each named by the offset of its first byte; the first ones and the newest
// ones stay, those between are deleted, so that no attempt takes more than about a megabyte
// whatever its trainer writes.
//
// Thread-safe. What is acknowledged survives the process, not a power cut: a log is no result.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace gyre {

inline constexpr size_t kMaxLogPart = size_t{256} << 10;

struct LogPart {
  int64_t offset = 0;  // of its first byte
  std::string data;
};

class LogStore {
 public:
  static constexpr int64_t kSegmentBytes = int64_t{256} << 10;
  static constexpr size_t kFirstSegments = 2, kNewestSegments = 3;

  explicit LogStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Answers where the log ends now. An offset before the end: what is there already is left out;
  /// an offset beyond it: a hole. RESOURCE_EXHAUSTED: the disk is full.
  Result<int64_t> Append(int64_t job, int attempt, int64_t offset, std::string_view data);

  /// At most kMaxLogPart bytes from the first that is kept at or after `offset`; nothing where
  /// there is none.
  Result<LogPart> Read(int64_t job, int attempt, int64_t offset);

  /// The last `lines` lines of the last kMaxLogPart bytes.
  Result<LogPart> ReadLast(int64_t job, int attempt, int lines);

 private:
  struct Segment {
    int64_t begin = 0, end = 0;
    std::filesystem::path path;
  };

  std::filesystem::path Folder(int64_t job, int attempt) const;
  std::vector<Segment> Segments(int64_t job, int attempt) const;
  static Status AppendTo(const std::filesystem::path& path, std::string_view data);
  static Result<LogPart> ReadFrom(const std::vector<Segment>& segments, int64_t offset);

  const std::filesystem::path folder_;
  Mutex mutex_;  // one call at a time
};

}  // namespace gyre
