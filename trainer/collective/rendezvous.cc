#include "trainer/collective/rendezvous.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/files.h"
#include "base/log.h"

namespace gyre {
namespace {

constexpr Millis kLookInterval{5};
constexpr Millis kPatience{10'000};  // then it is said who is waited for
constexpr char kFailureName[] = "failure";

std::string RankName(int rank) { return "rank " + std::to_string(rank); }

// The file appears whole or not at all, and never a second time. EEXIST: it is there already.
Status WriteOnce(const std::filesystem::path& path, std::string_view content, int* lock = nullptr) {
  std::string temporary = path.string() + ".XXXXXX";
  const int fd = mkostemp(temporary.data(), O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(errno, "cannot create " + temporary);
  Status status;
  if (lock != nullptr && flock(fd, LOCK_EX | LOCK_NB) != 0) {
    status = ErrnoStatus(errno, "cannot lock " + temporary);
  } else if (write(fd, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    status = ErrnoStatus(errno, "cannot write " + temporary);
  } else if (link(temporary.c_str(), path.c_str()) != 0) {
    status = errno == EEXIST ? AlreadyExists(path.string() + " is there already")
                             : ErrnoStatus(errno, "cannot create " + path.string());
  }
  unlink(temporary.c_str());
  if (status.ok() && lock != nullptr) {
    *lock = fd;
  } else {
    close(fd);
  }
  return status;
}

// Whether there is such a file and nobody holds it any more.
bool IsLeft(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool left = flock(fd, LOCK_SH | LOCK_NB) == 0;
  close(fd);
  return left;
}

}  // namespace

Result<std::unique_ptr<Rendezvous>> Rendezvous::Join(const RankOptions& options) {
  if (options.world < 1 || options.rank < 0 || options.rank >= options.world) {
    return InvalidArgument("there is no rank " + std::to_string(options.rank) + " of " +
                           std::to_string(options.world) + "; they count from 0");
  }
  GYRE_RETURN_IF_ERROR(MakeFolders(options.folder));
  std::unique_ptr<Rendezvous> rendezvous(new Rendezvous(options));
  GYRE_RETURN_IF_ERROR(rendezvous->TakeRank());
  for (int rank = 0; rank < options.world; ++rank) {
    GYRE_RETURN_IF_ERROR(rendezvous->AwaitRank(rank));
  }
  const std::string gone = rendezvous->WhoIsGone();
  if (!gone.empty()) return Unavailable(gone);
  return rendezvous;
}

Rendezvous::~Rendezvous() {
  if (lock_ >= 0) close(lock_);
}

std::filesystem::path Rendezvous::PathOfRank(int rank) const {
  return options_.folder / ("rank-" + std::to_string(rank));
}

Status Rendezvous::TakeRank() {
  const std::string content = std::to_string(options_.world) + " ranks: " + options_.purpose;
  const Status taken = WriteOnce(PathOfRank(options_.rank), content, &lock_);
  if (taken.code() != StatusCode::kAlreadyExists) return taken;
  return AlreadyExists(options_.folder.string() + " has had a " + RankName(options_.rank) +
                       " before; each attempt needs a new folder");
}

Status Rendezvous::AwaitRank(int rank) const {
  GYRE_ASSIGN_OR_RETURN(const std::string theirs, Get(PathOfRank(rank).filename()));
  GYRE_ASSIGN_OR_RETURN(const std::string ours, ReadFile(PathOfRank(options_.rank)));
  if (theirs == ours) return OkStatus();
  return InvalidArgument(RankName(rank) + " and " + RankName(options_.rank) +
                         " do not go together: '" + theirs + "' and '" + ours + "'");
}

Status Rendezvous::Put(const std::string& name, std::string_view content) {
  return WriteOnce(options_.folder / name, content);
}

Result<std::string> Rendezvous::Get(const std::string& name) const {
  const std::filesystem::path path = options_.folder / name;
  const Millis start = Clock::Real().Now();
  bool said = false;
  while (true) {
    Result<std::string> content = ReadFile(path);
    if (content.status().code() != StatusCode::kNotFound) return content;
    for (const std::string& end : {Failure(), WhoIsGone()}) {
      if (!end.empty()) return Unavailable(end);
    }
    const Millis waited = Clock::Real().Now() - start;
    if (waited >= options_.timeout) {
      return DeadlineExceeded("there was no " + name + " in " + options_.folder.string() +
                              " within " + std::to_string(waited.count() / 1000) +
                              " s; start every rank, from 0 to " +
                              std::to_string(options_.world - 1));
    }
    if (!said && waited >= kPatience) {
      said = true;
      LogInfo(RankName(options_.rank) + " waits for " + path.string());
    }
    std::this_thread::sleep_for(kLookInterval);
  }
}

void Rendezvous::Fail(const std::string& why) {
  const Status written = Put(kFailureName, why);
  if (!written.ok() && written.code() != StatusCode::kAlreadyExists) LogWarning(written.message());
}

std::string Rendezvous::Failure() const {
  auto failure = ReadFile(options_.folder / kFailureName);
  return failure.ok() ? *std::move(failure) : "";
}

std::string Rendezvous::WhoIsGone() const {
  for (int rank = 0; rank < options_.world; ++rank) {
    if (rank != options_.rank && IsLeft(PathOfRank(rank))) return RankName(rank) + " is gone";
  }
  return "";
}

}  // namespace gyre
