#pragma once

// The number types of CUDA's libraries that are emulated: float32 and bfloat16.

#include <cuda_bf16.h>

#include <cstddef>
#include <cstdint>

namespace gyre::emulation {

enum class NumberType { kFloat, kBf16 };

inline size_t BytesOf(NumberType type) {
  return type == NumberType::kFloat ? sizeof(float) : sizeof(__nv_bfloat16);
}
inline float NumberAt(const void* numbers, NumberType type, int64_t index) {
  return type == NumberType::kFloat
             ? static_cast<const float*>(numbers)[index]
             : __bfloat162float(static_cast<const __nv_bfloat16*>(numbers)[index]);
}
inline void SetNumberAt(void* numbers, NumberType type, int64_t index, float value) {
  if (type == NumberType::kFloat) {
    static_cast<float*>(numbers)[index] = value;
  } else {
    static_cast<__nv_bfloat16*>(numbers)[index] = __float2bfloat16_rn(value);
  }
}

}  // namespace gyre::emulation
