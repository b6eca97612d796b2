#include "worker/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "worker/convert.h"

namespace gyre {
namespace {

constexpr size_t kLengthDigits = 8, kHashDigits = 16, kHeader = kLengthDigits + kHashDigits;

std::string Record(const std::string& payload) {
  char length[kLengthDigits + 1];
  std::snprintf(length, sizeof length, "%08zx", payload.size());
  return length + Sha256Hex(payload).substr(0, kHashDigits) + payload;
}

Result<std::string> ReadAt(int fd, int64_t offset, size_t bytes) {
  std::string text(bytes, '\0');
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        pread(fd, text.data() + done, bytes - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "cannot read a spool");
    if (got == 0) return DataLoss("a spool ends in the middle of a record");
    done += static_cast<size_t>(got);
  }
  return text;
}

}  // namespace

std::string SpoolFileName(const AttemptId& attempt) {
  std::string epoch = attempt.epoch.substr(0, 16);
  std::erase_if(epoch, [](unsigned char c) { return std::isalnum(c) == 0; });
  return "job-" + std::to_string(attempt.job_id) + "-attempt-" + std::to_string(attempt.number) +
         (epoch.empty() ? "" : "-" + epoch) + kSpoolSuffix;
}

Spool::Spool(std::filesystem::path path, AttemptId attempt, int64_t max_bytes)
    : path_(std::move(path)), attempt_(std::move(attempt)), max_bytes_(max_bytes) {}

Spool::~Spool() {
  if (fd_ >= 0) close(fd_);
}

Result<std::unique_ptr<Spool>> Spool::Open(const std::filesystem::path& path, int64_t max_bytes) {
  auto spool = std::make_unique<Spool>(path, AttemptId{}, max_bytes);
  spool->fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (spool->fd_ < 0) return ErrnoStatus(errno, "cannot open " + path.string());
  int64_t offset = 0;
  GYRE_ASSIGN_OR_RETURN(const std::string owner, spool->ReadRecord(&offset));
  GYRE_ASSIGN_OR_RETURN(spool->attempt_, DecodeOwner(owner));
  const MutexLock lock(spool->mutex_);
  spool->begin_ = spool->read_ = spool->end_ = offset;
  while (true) {
    const Result<std::string> record = spool->ReadRecord(&offset);
    if (!record.ok()) break;
    Result<Report> report = DecodeReport(*record);
    if (!report.ok()) break;
    spool->Count(*report);
    spool->end_ = offset;
  }
  if (ftruncate(spool->fd_, spool->end_) != 0)
    return ErrnoStatus(errno, "cannot cut " + path.string());
  return spool;
}

Status Spool::Create() {
  GYRE_RETURN_IF_ERROR(MakeFolders(path_.parent_path()));
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd_ < 0) return ErrnoStatus(errno, "cannot make " + path_.string());
  const std::string owner = Record(EncodeOwner(attempt_));
  GYRE_RETURN_IF_ERROR(Write(owner, 0));
  GYRE_RETURN_IF_ERROR(SyncPath(path_.parent_path()));
  const MutexLock lock(mutex_);
  begin_ = read_ = end_ = static_cast<int64_t>(owner.size());
  return OkStatus();
}

// All of it and on disk, or none.
Status Spool::Write(const std::string& record, int64_t offset) const {
  size_t done = 0;
  while (done < record.size()) {
    const ssize_t put = pwrite(fd_, record.data() + done, record.size() - done,
                               offset + static_cast<int64_t>(done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const Status status = ErrnoStatus(errno, "cannot write " + path_.string());
      (void)!ftruncate(fd_, offset);
      return status;
    }
    done += static_cast<size_t>(put);
  }
  if (fdatasync(fd_) == 0) return OkStatus();
  const Status status = ErrnoStatus(errno, "cannot write " + path_.string());
  (void)!ftruncate(fd_, offset);
  return status;
}

Status Spool::Append(const Report& report) {
  if (fd_ < 0) {
    if (Status made = Create(); !made.ok()) {
      if (fd_ >= 0) Remove();
      return made;
    }
  }
  const std::string record = Record(EncodeReport(report));
  int64_t begin = 0, end = 0;
  {
    const MutexLock lock(mutex_);
    begin = begin_;
    end = end_;
  }
  const bool has_room = end == begin || end + static_cast<int64_t>(record.size()) <= max_bytes_;
  if (!has_room && !std::holds_alternative<AttemptEnd>(report)) {
    return ResourceExhausted("what " + ToString(attempt_) + " reports fills its " +
                             std::to_string(max_bytes_ >> 20) + " MiB of disk (" + path_.string() +
                             ")");
  }
  GYRE_RETURN_IF_ERROR(Write(record, end));
  Count(report);
  const MutexLock lock(mutex_);
  end_ = end + static_cast<int64_t>(record.size());
  return OkStatus();
}

void Spool::Count(const Report& report) {
  if (const auto* batch = std::get_if<PointBatch>(&report)) {
    summary_.last_sequence = std::max(summary_.last_sequence, batch->sequence);
    for (const Point& point : batch->points) summary_.step = std::max(summary_.step, point.step);
  } else if (const auto* saved = std::get_if<CheckpointReport>(&report)) {
    summary_.last_sequence = std::max(summary_.last_sequence, saved->sequence);
    summary_.step = std::max(summary_.step, saved->checkpoint.step);
    summary_.checkpoints.push_back(saved->checkpoint.hash);
  } else {
    const AttemptEnd& end = std::get<AttemptEnd>(report);
    summary_.last_sequence = std::max(summary_.last_sequence, end.last_sequence);
    summary_.step = std::max(summary_.step, end.step);
    summary_.outcome = end.outcome;
  }
}

bool Spool::HasUnread() const {
  const MutexLock lock(mutex_);
  return read_ < end_;
}

void Spool::SkipUnread() {
  const MutexLock lock(mutex_);
  read_ = end_;
}

Result<std::string> Spool::ReadRecord(int64_t* offset) const {
  GYRE_ASSIGN_OR_RETURN(const std::string header, ReadAt(fd_, *offset, kHeader));
  size_t length = 0;
  const auto parsed = std::from_chars(header.data(), header.data() + kLengthDigits, length, 16);
  const off_t size = lseek(fd_, 0, SEEK_END);
  const auto left = static_cast<size_t>(std::max<int64_t>(size - *offset, 0));
  if (parsed.ptr != header.data() + kLengthDigits || length + kHeader > left) {
    return DataLoss("a record of " + path_.string() + " is damaged");
  }
  GYRE_ASSIGN_OR_RETURN(std::string payload, ReadAt(fd_, *offset + int64_t{kHeader}, length));
  if (Sha256Hex(payload).substr(0, kHashDigits) != header.substr(kLengthDigits)) {
    return DataLoss("a record of " + path_.string() + " is damaged");
  }
  *offset += static_cast<int64_t>(kHeader + length);
  return payload;
}

Result<Report> Spool::Next() {
  int64_t offset = 0;
  {
    const MutexLock lock(mutex_);
    offset = read_;
  }
  GYRE_ASSIGN_OR_RETURN(const std::string record, ReadRecord(&offset));
  GYRE_ASSIGN_OR_RETURN(Report report, DecodeReport(record));
  const MutexLock lock(mutex_);
  read_ = offset;
  return report;
}

Status Spool::Clear() {
  const MutexLock lock(mutex_);
  if (fd_ >= 0) {
    close(std::exchange(fd_, -1));
    std::error_code error;
    std::filesystem::remove(path_, error);
    if (error) return Internal("cannot remove " + path_.string() + ": " + error.message());
  }
  begin_ = read_ = end_ = 0;
  return OkStatus();
}

void Spool::Remove() { (void)Clear(); }

}  // namespace gyre
