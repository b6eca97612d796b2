#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "trainer/collective/nccl_plugin.h"

namespace gyre {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWatchInterval{200};
constexpr std::chrono::milliseconds kSettleInterval{1};

BackendError DeviceError(const std::string& call, const char* why) {
  return {BackendError::Kind::kDevice, call + ": " + why};
}
BackendError PeerError(const std::string& who) { return {BackendError::Kind::kPeer, who}; }

// Sums by the switch between GPUs (NVLS) may differ from call to call (NVIDIA/nccl#1497). Who sets
// the variable has chosen.
void ForbidSwitchSums() { setenv("NCCL_NVLS_ENABLE", "0", /*overwrite=*/0); }

BackendError SetDevice(int device) {
  const cudaError_t error = cudaSetDevice(device);
  return error == cudaSuccess ? BackendError{}
                              : DeviceError("cudaSetDevice", cudaGetErrorString(error));
}

// NCCL's own calls return before they are done; a rank that is gone would keep them from ever
// being.
class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(NcclOptions options, std::unique_ptr<Communicator> host)
      : options_(std::move(options)), host_(std::move(host)) {}
  ~NcclCommunicator() override {
    watcher_ = {};  // stops it and waits
    const std::lock_guard lock(mutex_);
    if (SetDevice(options_.device).ok()) Abort("this rank is gone");
  }

  BackendError Connect() {
    BackendError error = SetDevice(options_.device);
    ncclUniqueId id = {};
    if (error.ok() && options_.id.size() != sizeof(id.internal)) {
      error = DeviceError("ncclCommInitRankConfig", "this is no id of NCCL's");
    }
    if (!error.ok()) return error;
    std::memcpy(id.internal, options_.id.data(), sizeof(id.internal));
    ForbidSwitchSums();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const std::lock_guard lock(mutex_);
    const ncclResult_t result =
        ncclCommInitRankConfig(&comm_, host_->size(), id, host_->rank(), &config);
    error = Settle("ncclCommInitRankConfig", result);
    if (error.ok()) watcher_ = std::jthread([this](std::stop_token stop) { Watch(stop); });
    return error;
  }

  int rank() const override { return host_->rank(); }
  int size() const override { return host_->size(); }

  BackendError Sum(float* values, int64_t count, void* stream) override {
    double here = 1;
    BackendError error = host_->Sum({&here, 1});
    if (error.ok()) error = SetDevice(options_.device);
    if (!error.ok() || count == 0) return error;
    const std::lock_guard lock(mutex_);
    if (!failure_.empty()) return PeerError(failure_);
    const auto size = static_cast<size_t>(count);
    return Settle("ncclAllReduce", ncclAllReduce(values, values, size, ncclFloat32, ncclSum, comm_,
                                                 static_cast<cudaStream_t>(stream)));
  }
  BackendError Sum(std::span<double> values) override {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_.empty()) return PeerError(failure_);
    }
    return host_->Sum(values);
  }
  void Leave(const std::string& why) override {
    host_->Leave(why);
    const std::lock_guard lock(mutex_);
    Abort("this rank has left: " + why);
  }

 private:
  // Waits until a call is done.
  BackendError Settle(const char* call, ncclResult_t result) {
    const Clock::time_point end = Clock::now() + std::chrono::milliseconds(options_.timeout_ms);
    while (result == ncclInProgress) {
      const std::string gone = options_.who_is_gone();
      if (!gone.empty()) {
        Abort(gone);
        return PeerError(failure_);
      }
      if (Clock::now() > end) {
        Abort(std::string(call) + " did not end within " + std::to_string(options_.timeout_ms) +
              " ms");
        return PeerError(failure_);
      }
      std::this_thread::sleep_for(kSettleInterval);
      if (const ncclResult_t asked = ncclCommGetAsyncError(comm_, &result); asked != ncclSuccess) {
        result = asked;
      }
    }
    return result == ncclSuccess ? BackendError{} : DeviceError(call, ncclGetErrorString(result));
  }

  // A sum that is under way ends, and nobody waits for it any more.
  void Abort(const std::string& why) {
    if (failure_.empty()) failure_ = why;
    if (comm_ != nullptr) ncclCommAbort(std::exchange(comm_, nullptr));
  }

  void Watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested() && comm_ != nullptr) {
      stopped_.wait_for(lock, stop, kWatchInterval, [] { return false; });
      if (stop.stop_requested() || comm_ == nullptr) return;
      std::string gone = options_.who_is_gone();
      ncclResult_t state = ncclSuccess;
      if (gone.empty() && ncclCommGetAsyncError(comm_, &state) == ncclSuccess &&
          state != ncclSuccess && state != ncclInProgress) {
        gone = std::string("NCCL: ") + ncclGetErrorString(state);
      }
      if (gone.empty()) continue;
      if (SetDevice(options_.device).ok()) Abort(gone);
    }
  }

  const NcclOptions options_;
  const std::unique_ptr<Communicator> host_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  ncclComm_t comm_ = nullptr;  // guarded by mutex_, as the next; null: ended
  std::string failure_;
  std::jthread watcher_;
};

class Plugin : public NcclPlugin {
 public:
  std::string Version() override {
    int version = 0;
    ncclGetVersion(&version);
    return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
           std::to_string(version % 100);
  }
  BackendError NewId(std::string* id) override {
    ForbidSwitchSums();
    ncclUniqueId made = {};
    const ncclResult_t result = ncclGetUniqueId(&made);
    if (result != ncclSuccess) return DeviceError("ncclGetUniqueId", ncclGetErrorString(result));
    id->assign(made.internal, sizeof(made.internal));
    return {};
  }
  BackendError Connect(const NcclOptions& options, std::unique_ptr<Communicator> host,
                       std::unique_ptr<Communicator>* communicator) override {
    auto connected = std::make_unique<NcclCommunicator>(options, std::move(host));
    BackendError error = connected->Connect();
    if (error.ok()) *communicator = std::move(connected);
    return error;
  }
};

}  // namespace
}  // namespace gyre

extern "C" __attribute__((visibility("default"))) gyre::NcclPlugin* GyreNcclPlugin(
    const char* abi) {
  static gyre::Plugin plugin;
  return std::strcmp(abi, GYRE_BACKEND_ABI) == 0 ? &plugin : nullptr;
}
