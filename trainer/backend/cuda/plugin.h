#pragma once

// What libgyre_cuda.so offers. It is loaded at run time, so that programs start without CUDA's
// libraries, and everything in it is known by these two interfaces (this and backend.h) alone.
// Standard C++ only.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backend/backend.h"

namespace gyre {

struct CudaDevice {
  std::string name;
  int64_t memory_bytes = 0;
  int major = 0, minor = 0;  // compute capability
  std::string unusable;      // why no backend can be made for it, for people; empty = one can
};

/// What a machine has for this backend.
struct CudaReport {
  std::vector<CudaDevice> devices;  // by CUDA's number
  std::string absent;               // why there are none; for people
  std::string driver, runtime;      // CUDA versions, "13.0"; driver empty: none is installed
  std::string libraries;            // "cuBLASLt 13.0.2": what the bits of a result depend on
};

struct CudaOptions {
  int device = 0;
  Precision precision = Precision::kFloat32;
  int64_t logits = int64_t{1} << 27;  // that cross-entropy holds at a time
};

class CudaPlugin {
 public:
  virtual ~CudaPlugin() = default;
  /// Touches no device: nothing is allocated anywhere.
  virtual CudaReport Report() = 0;
  /// Of the device's memory, for everybody; 0 = not known. The driver may take some hundred MiB of
  /// it for this process.
  virtual int64_t FreeBytes(int device) = 0;
  virtual BackendError Create(const CudaOptions& options, std::unique_ptr<Backend>* backend) = 0;
};

}  // namespace gyre

/// The one symbol. `abi` is GYRE_BACKEND_ABI, a hash of this header, backend.h and communicator.h:
/// null if the plug-in was built from others. What it returns lives as long as the plug-in is
/// loaded.
extern "C" gyre::CudaPlugin* GyreCudaPlugin(const char* abi);
