#pragma once

// What libgyre_nccl.so offers: sums between ranks that are processes, each with a GPU of its own.
// It is loaded at run time as libgyre_cuda.so is (trainer/backend/cuda/plugin.h), by whoever trains
// one job on several GPUs and by nobody else. Standard C++ only.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "trainer/collective/communicator.h"

namespace gyre {

struct NcclOptions {
  int device = 0;  // CUDA's number of it
  std::string id;  // what NewId gave to one of the ranks
  int64_t timeout_ms = 0;
  /// Which rank is gone or has failed; empty = none. Asked from another thread, again and again.
  std::function<std::string()> who_is_gone;
};

class NcclPlugin {
 public:
  virtual ~NcclPlugin() = default;
  /// "2.28.9".
  virtual std::string Version() = 0;
  virtual BackendError NewId(std::string* id) = 0;
  /// Returns when all ranks have called it. Sums of device memory go through NCCL; `host` is the
  /// same ranks without a device: it carries the sums of this process's memory, and before each sum
  /// of device memory all ranks meet there, so that one that hangs or is gone is found out by name.
  /// One that dies while a sum is carried out is found by `who_is_gone`; what was summed is then
  /// worthless, as the next call says.
  virtual BackendError Connect(const NcclOptions& options, std::unique_ptr<Communicator> host,
                               std::unique_ptr<Communicator>* communicator) = 0;
};

}  // namespace gyre

/// The one symbol. `abi` is GYRE_BACKEND_ABI: null if the plug-in was built from other headers.
extern "C" gyre::NcclPlugin* GyreNcclPlugin(const char* abi);
