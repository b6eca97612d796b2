#include "tests/emulation/device.h"

#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "tests/emulation/block.h"
#include "tests/emulation/error.h"
#include "tests/emulation/options.h"

namespace gyre::emulation {
namespace {

constexpr int kProcessors = 4;
constexpr int kMajor = 9, kMinor = 0;

thread_local constinit int current_device = 0;
thread_local constinit cudaError_t last_error = cudaSuccess;

struct ErrorText {
  cudaError_t error;
  const char *name, *text;
};
constexpr std::array kErrorTexts = {
    ErrorText{cudaSuccess, "cudaSuccess", "no error"},
    ErrorText{cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    ErrorText{cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    ErrorText{cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
              "invalid configuration argument"},
    ErrorText{cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    ErrorText{cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
};

const ErrorText& TextOf(cudaError_t error) {
  for (const ErrorText& text : kErrorTexts) {
    if (text.error == error) return text;
  }
  static constexpr ErrorText kUnknown = {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};
  return kUnknown;
}

bool IsDevice(int device) { return device >= 0 && device < TheOptions().devices; }

}  // namespace

int CurrentDevice() { return current_device; }

cudaError_t Remember(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace gyre::emulation

using namespace gyre::emulation;

extern "C" {

const char* cudaGetErrorString(cudaError_t error) { return TextOf(error).text; }
const char* cudaGetErrorName(cudaError_t error) { return TextOf(error).name; }
cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  if (TheOptions().devices == 0) return Remember(cudaErrorNoDevice);
  *count = TheOptions().devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!IsDevice(device)) return Remember(cudaErrorInvalidDevice);
  current_device = device;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!IsDevice(device)) return Remember(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "emulated GPU");
  properties->totalGlobalMem = TheOptions().memory_bytes;
  properties->sharedMemPerBlock = kSharedBytesWithoutAsking;
  properties->sharedMemPerBlockOptin = kMostSharedBytes;
  properties->warpSize = kWarpSize;
  properties->maxThreadsPerBlock = kMostThreads;
  properties->major = kMajor;
  properties->minor = kMinor;
  properties->multiProcessorCount = kProcessors;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!IsDevice(device)) return Remember(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = kMajor;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = kMinor;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = kProcessors;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = kMostSharedBytes;
      return cudaSuccess;
    case cudaDevAttrWarpSize:
      *value = kWarpSize;
      return cudaSuccess;
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      return cudaSuccess;
    default:
      Fail("cudaDeviceGetAttribute: attribute " + std::to_string(attribute) + " is not emulated");
  }
}

}  // extern "C"
