// NCCL between ranks that are threads of this process, each with a device of its own. A collective
// is carried out when its stream comes to it, and waits there for the other ranks; ranks that do
// not agree about it are an error.

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "tests/emulation/device.h"
#include "tests/emulation/error.h"
#include "tests/emulation/memory.h"
#include "tests/emulation/number_types.h"
#include "tests/emulation/stream.h"

namespace gyre::emulation {
namespace {

constexpr std::chrono::seconds kPatience{30};

struct Collective {
  enum class Kind { kSum, kBroadcast } kind = Kind::kSum;
  const void* send = nullptr;
  size_t count = 0;
  NumberType type = NumberType::kFloat;
  int root = 0;

  bool Agrees(const Collective& other) const {
    return kind == other.kind && count == other.count && type == other.type && root == other.root;
  }
};

/// The ranks of one id.
class Ranks {
 public:
  explicit Ranks(int size) : calls_(size) {}

  int size() const { return static_cast<int>(calls_.size()); }

  /// False if the device is another rank's already, as NCCL has it.
  bool Enter(int device) {
    const std::lock_guard lock(mutex_);
    if (devices_.insert(device).second) return true;
    gone_ = true;
    all_here_.notify_all();
    return false;
  }
  /// Until all ranks are here; false if one is gone or does not come.
  bool Meet() {
    std::unique_lock lock(mutex_);
    if (gone_) return false;
    const unsigned meeting = meetings_;
    if (++here_ == size()) {
      here_ = 0;
      ++meetings_;
      all_here_.notify_all();
      return true;
    }
    all_here_.wait_for(lock, kPatience, [&] { return meetings_ != meeting || gone_; });
    if (meetings_ != meeting) return true;
    gone_ = true;
    all_here_.notify_all();
    return false;
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    all_here_.notify_all();
  }
  bool Carry(int rank, const Collective& call, void* receive);

 private:
  float SumAt(size_t index) const {
    float sum = 0;
    for (const Collective& call : calls_) sum += NumberAt(call.send, call.type, index);
    return sum;
  }

  std::mutex mutex_;
  std::condition_variable all_here_;
  int here_ = 0;
  unsigned meetings_ = 0;
  bool gone_ = false;
  std::set<int> devices_;
  std::vector<Collective> calls_;
};

bool Ranks::Carry(int rank, const Collective& call, void* receive) {
  const DeviceMemoryOpen open;
  calls_[rank] = call;
  if (!Meet()) return false;
  for (const Collective& other : calls_) {
    if (!other.Agrees(call)) Fail("NCCL: ranks disagree about a collective");
  }
  std::vector<float> values(call.count);
  for (size_t i = 0; i < call.count; ++i) {
    values[i] = call.kind == Collective::Kind::kSum
                    ? SumAt(i)
                    : NumberAt(calls_[call.root].send, call.type, i);
  }
  if (!Meet()) return false;  // everybody has read
  for (size_t i = 0; i < call.count; ++i) SetNumberAt(receive, call.type, i, values[i]);
  return true;
}

std::shared_ptr<Ranks> RanksOf(const ncclUniqueId& id, int size) {
  static std::mutex mutex;
  static auto* const all = new std::map<std::string, std::weak_ptr<Ranks>>;
  const std::lock_guard lock(mutex);
  std::weak_ptr<Ranks>& kept = (*all)[std::string(id.internal, sizeof(id.internal))];
  std::shared_ptr<Ranks> ranks = kept.lock();
  if (ranks == nullptr) kept = ranks = std::make_shared<Ranks>(size);
  return ranks;
}

bool TakeType(ncclDataType_t from, NumberType* to) {
  *to = from == ncclBfloat16 ? NumberType::kBf16 : NumberType::kFloat;
  return from == ncclBfloat16 || from == ncclFloat32;
}

}  // namespace
}  // namespace gyre::emulation

using namespace gyre::emulation;

struct ncclComm {
  std::shared_ptr<Ranks> ranks;
  int rank = 0;
  // Of what was carried out, which may be after the communicator is gone.
  std::shared_ptr<std::atomic<ncclResult_t>> error =
      std::make_shared<std::atomic<ncclResult_t>>(ncclSuccess);
};

static ncclResult_t Carry(ncclComm* comm, const Collective& call, void* receive,
                          cudaStream_t stream) {
  if (call.count == 0) return ncclSuccess;
  const size_t bytes = call.count * BytesOf(call.type);
  RequireDeviceMemory(call.send, bytes, "what NCCL sends");
  RequireDeviceMemory(receive, bytes, "what NCCL receives");
  Submit(stream, [=, ranks = comm->ranks, rank = comm->rank, error = comm->error] {
    if (!ranks->Carry(rank, call, receive)) *error = ncclRemoteError;
  });
  return ncclSuccess;
}

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "an error that the emulation does not know";
  }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::mutex mutex;
  static uint64_t last = 0;
  const std::lock_guard lock(mutex);
  ++last;
  *id = {};
  std::memcpy(id->internal, &last, sizeof(last));
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  std::shared_ptr<Ranks> ranks = RanksOf(id, size);
  if (ranks->size() != size || rank < 0 || rank >= size) return ncclInvalidArgument;
  if (!ranks->Enter(CurrentDevice())) return ncclInvalidUsage;
  if (!ranks->Meet()) return ncclRemoteError;
  *comm = new ncclComm{std::move(ranks), rank};
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t*) {
  return ncclCommInitRank(comm, size, id, rank);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->ranks->Leave();
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return ncclCommAbort(comm); }

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = *comm->error;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  Collective call = {Collective::Kind::kSum, send, count};
  if (!TakeType(type, &call.type) || operation != ncclSum) {
    Fail("NCCL: only sums of float32 or bfloat16 are emulated");
  }
  return Carry(comm, call, receive, stream);
}

ncclResult_t ncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, cudaStream_t stream) {
  Collective call = {Collective::Kind::kBroadcast, send, count};
  call.root = root;
  if (!TakeType(type, &call.type)) Fail("NCCL: only float32 and bfloat16 are emulated");
  return Carry(comm, call, receive, stream);
}

}  // extern "C"
