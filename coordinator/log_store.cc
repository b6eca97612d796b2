#include "coordinator/log_store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"

namespace gyre {

std::filesystem::path LogStore::Folder(int64_t job, int attempt) const {
  return folder_ / ("job-" + std::to_string(job)) / ("attempt-" + std::to_string(attempt));
}

std::vector<LogStore::Segment> LogStore::Segments(int64_t job, int attempt) const {
  std::vector<Segment> segments;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(Folder(job, attempt), error)) {
    Segment segment{.path = entry.path()};
    if (std::sscanf(segment.path.filename().c_str(), "%ld.log", &segment.begin) != 1) continue;
    const auto bytes = std::filesystem::file_size(segment.path, error);
    if (error) continue;
    segment.end = segment.begin + static_cast<int64_t>(bytes);
    segments.push_back(std::move(segment));
  }
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
  return segments;
}

// All of it or nothing: a full disk may take a part.
Status LogStore::AppendTo(const std::filesystem::path& path, std::string_view data) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return ErrnoStatus(errno, "cannot write " + path.string());
  const off_t size = lseek(fd, 0, SEEK_END);
  Status status;
  while (!data.empty() && status.ok()) {
    const ssize_t written = write(fd, data.data(), data.size());
    if (written >= 0) {
      data.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      status = ErrnoStatus(errno, "cannot write " + path.string());
      if (ftruncate(fd, size) != 0) status = status.WithContext("half a line stays");
    }
  }
  close(fd);
  return status;
}

Result<int64_t> LogStore::Append(int64_t job, int attempt, int64_t offset, std::string_view data) {
  const MutexLock lock(mutex_);
  std::vector<Segment> segments = Segments(job, attempt);
  int64_t end = segments.empty() ? 0 : segments.back().end;
  if (offset < end) {
    data.remove_prefix(std::min(data.size(), static_cast<size_t>(end - offset)));
    offset = end;
  }
  if (data.empty()) return end;
  if (segments.empty()) GYRE_RETURN_IF_ERROR(MakeFolders(Folder(job, attempt)));
  while (!data.empty()) {
    const bool fits = !segments.empty() && offset == segments.back().end &&
                      offset - segments.back().begin < kSegmentBytes;
    if (!fits) {
      std::array<char, 32> name{};
      std::snprintf(name.data(), name.size(), "%015ld.log", offset);
      segments.push_back({offset, offset, Folder(job, attempt) / name.data()});
    }
    Segment& last = segments.back();
    const auto room = static_cast<size_t>(kSegmentBytes - (offset - last.begin));
    const std::string_view part = data.substr(0, room);
    GYRE_RETURN_IF_ERROR(AppendTo(last.path, part));
    data.remove_prefix(part.size());
    offset += static_cast<int64_t>(part.size());
    last.end = end = offset;
  }
  while (segments.size() > kFirstSegments + kNewestSegments) {
    const auto oldest = segments.begin() + static_cast<std::ptrdiff_t>(kFirstSegments);
    std::error_code error;
    std::filesystem::remove(oldest->path, error);
    segments.erase(oldest);
  }
  return end;
}

Result<LogPart> LogStore::ReadFrom(const std::vector<Segment>& segments, int64_t offset) {
  const auto segment = std::find_if(segments.begin(), segments.end(),
                                    [&](const Segment& s) { return s.end > offset; });
  if (segment == segments.end()) return LogPart{offset, ""};
  GYRE_ASSIGN_OR_RETURN(std::string data, ReadFile(segment->path));
  const int64_t skipped = std::max<int64_t>(0, offset - segment->begin);
  data.erase(0, std::min(data.size(), static_cast<size_t>(skipped)));
  return LogPart{segment->begin + skipped, std::move(data)};
}

Result<LogPart> LogStore::Read(int64_t job, int attempt, int64_t offset) {
  const MutexLock lock(mutex_);
  return ReadFrom(Segments(job, attempt), std::max<int64_t>(0, offset));
}

Result<LogPart> LogStore::ReadLast(int64_t job, int attempt, int lines) {
  const MutexLock lock(mutex_);
  const std::vector<Segment> segments = Segments(job, attempt);
  LogPart part;
  if (segments.empty()) return part;
  // The last segment may have just begun: what is before it, as far as it goes without a hole.
  part.offset = segments.back().end;
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    if (segment->end != part.offset || part.data.size() >= kMaxLogPart) break;
    GYRE_ASSIGN_OR_RETURN(LogPart before, ReadFrom({*segment}, segment->begin));
    part = {before.offset, before.data + part.data};
  }
  size_t begin = part.data.size();
  for (int line = 0; begin > 0; --begin) {
    const bool ends_line = part.data[begin - 1] == '\n' && begin < part.data.size();
    if (ends_line && ++line == lines) break;
  }
  if (part.data.size() - begin > kMaxLogPart) begin = part.data.size() - kMaxLogPart;
  part.offset += static_cast<int64_t>(begin);
  part.data.erase(0, begin);
  return part;
}

}  // namespace gyre
