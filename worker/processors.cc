#include "worker/processors.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/machine.h"

namespace gyre {
namespace {

// Where a processor is in the machine.
struct Place {
  int sibling = 0;  // how many processors of its core come before it
  int package = 0;
  int number = 0;
  friend bool operator<(const Place& a, const Place& b) {
    return std::tie(a.sibling, a.package, a.number) < std::tie(b.sibling, b.package, b.number);
  }
};

Place PlaceOf(int number, const std::filesystem::path& root) {
  const std::filesystem::path topology =
      root / "sys/devices/system/cpu" / ("cpu" + std::to_string(number)) / "topology";
  const auto siblings = ReadFile(topology / "thread_siblings_list", 1 << 16);
  const auto package = ReadFile(topology / "physical_package_id", 1 << 16);
  Place place{0, package.ok() ? std::atoi(package->c_str()) : 0, number};
  if (siblings.ok()) {
    const std::vector<int> numbers = NumbersOfList(*siblings);
    place.sibling = static_cast<int>(
        std::count_if(numbers.begin(), numbers.end(), [&](int other) { return other < number; }));
  }
  return place;
}

// An abstract socket's name is taken by one socket at a time and free when that is closed, however
// its process ends; it needs no folder that all users of the machine share. -1: it is taken.
int TryLock(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  const int lock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (lock < 0) return -1;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (bind(lock, reinterpret_cast<const sockaddr*>(&address), size) == 0) return lock;
  close(lock);
  return -1;
}

Status RunThreadOn(int thread, const std::vector<int>& processors) {
  const int largest = *std::max_element(processors.begin(), processors.end());
  cpu_set_t* set = CPU_ALLOC(largest + 1);
  const size_t size = CPU_ALLOC_SIZE(largest + 1);
  CPU_ZERO_S(size, set);
  for (const int processor : processors) CPU_SET_S(processor, size, set);
  const int error = sched_setaffinity(thread, size, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  if (error == 0 || error == ESRCH) return OkStatus();  // a thread may end meanwhile
  return ErrnoStatus(error, "cannot choose the processors of thread " + std::to_string(thread));
}

}  // namespace

std::vector<int> ProcessorsForJobs(const std::filesystem::path& root) {
  std::vector<Place> places;
  for (const int number : UsableProcessors(root)) places.push_back(PlaceOf(number, root));
  if (UsableCores(root) < static_cast<int>(places.size())) return {};
  std::sort(places.begin(), places.end());
  std::vector<int> processors;
  for (const Place& place : places) processors.push_back(place.number);
  return processors;
}

ProcessorClaim ProcessorClaim::Make(const std::vector<int>& processors, int count,
                                    const std::string& owner) {
  ProcessorClaim claim;
  for (const int processor : processors) {
    if (static_cast<int>(claim.processors_.size()) == count) break;
    const int lock = TryLock(owner + "/processor/" + std::to_string(processor));
    if (lock < 0) continue;
    claim.processors_.push_back(processor);
    claim.locks_.push_back(lock);
  }
  return static_cast<int>(claim.processors_.size()) == count ? std::move(claim) : ProcessorClaim();
}

ProcessorClaim::ProcessorClaim(ProcessorClaim&& other) noexcept
    : processors_(std::exchange(other.processors_, {})), locks_(std::exchange(other.locks_, {})) {}

ProcessorClaim& ProcessorClaim::operator=(ProcessorClaim&& other) noexcept {
  std::swap(processors_, other.processors_);
  std::swap(locks_, other.locks_);
  return *this;
}

ProcessorClaim::~ProcessorClaim() {
  for (const int lock : locks_) close(lock);
}

Status RunOn(int pid, const std::vector<int>& processors) {
  if (processors.empty()) return OkStatus();
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  // A thread that a thread not yet moved has started meanwhile is seen the next time.
  for (std::set<std::string> moved, seen;; moved = std::exchange(seen, {})) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(tasks, error), end; !error && entry != end;
         entry.increment(error)) {
      seen.insert(entry->path().filename());
    }
    if (error) return ErrnoStatus(error.value(), "cannot list " + tasks.string());
    if (seen == moved) return OkStatus();
    for (const std::string& thread : seen) {
      GYRE_RETURN_IF_ERROR(RunThreadOn(std::atoi(thread.c_str()), processors));
    }
  }
}

}  // namespace gyre
