#pragma once

// Arrays on a device, for tests of kernels; on the emulation and on a GPU alike.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace gyre::cuda {

template <typename Element>
class DeviceArray {
 public:
  /// Not initialized: NaN on the emulation.
  explicit DeviceArray(int64_t count) : count_(count) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(Element)), cudaSuccess);
  }
  explicit DeviceArray(const std::vector<Element>& values)
      : DeviceArray(static_cast<int64_t>(values.size())) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(Element), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~DeviceArray() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  Element* data() const { return data_; }
  int64_t count() const { return count_; }

  /// Waits for the device.
  std::vector<Element> Values() const {
    std::vector<Element> values(count_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(Element), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  Element* data_ = nullptr;
  int64_t count_;
};

inline std::vector<__nv_bfloat16> ToBf16(const std::vector<float>& values) {
  std::vector<__nv_bfloat16> narrow;
  for (const float value : values) narrow.push_back(__float2bfloat16_rn(value));
  return narrow;
}
inline std::vector<float> ToFloat(const std::vector<__nv_bfloat16>& values) {
  std::vector<float> wide;
  for (const __nv_bfloat16 value : values) wide.push_back(__bfloat162float(value));
  return wide;
}
inline std::vector<float> ToFloat(const std::vector<float>& values) { return values; }

}  // namespace gyre::cuda
