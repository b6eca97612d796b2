#pragma once

// Programs with one fault each, and the same without it: what the emulation and the sanitizers are
// held against (planted_faults_test.cc). planted_faults NAME runs one.

#include <cuda_runtime.h>

#include <vector>

namespace gyre::planted {

struct PlantedFault {
  const char* name;
  bool (*run)();  // false: a wrong result
};

const std::vector<PlantedFault>& KernelFaults();
const std::vector<PlantedFault>& HostFaults();

constexpr int kThreads = 64;

/// Device memory for a planted fault, never freed.
inline float* DeviceFloats(int count) {
  void* data = nullptr;
  return cudaMalloc(&data, count * sizeof(float)) == cudaSuccess ? static_cast<float*>(data)
                                                                 : nullptr;
}

inline float FirstOf(const float* device) {
  float value = 0;
  cudaMemcpy(&value, device, sizeof(value), cudaMemcpyDeviceToHost);
  return value;
}

}  // namespace gyre::planted
