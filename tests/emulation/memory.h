#pragma once

// The memory of the emulated devices: each allocation is one block of the heap, so that
// AddressSanitizer knows its ends and its death, NaN at first unless it is large. While nothing
// runs on a device its memory is poisoned: a host that touches it is reported.

#include <cuda_runtime.h>

#include <cstddef>

namespace gyre::emulation {

/// While one lives, device memory may be touched.
class DeviceMemoryOpen {
 public:
  DeviceMemoryOpen();
  ~DeviceMemoryOpen();
  DeviceMemoryOpen(const DeviceMemoryOpen&) = delete;
  DeviceMemoryOpen& operator=(const DeviceMemoryOpen&) = delete;
};

/// Of any device; not if it has been freed, even if the free is still waiting in a stream.
bool IsDeviceMemory(const void* data, size_t bytes = 1);
/// Fails unless these bytes, which may be none at its end, are within one allocation of the current
/// device.
void RequireDeviceMemory(const void* data, size_t bytes, const char* what);
/// Host memory that a copy may read or write after the call returned.
bool IsPinned(const void* data);

}  // namespace gyre::emulation
