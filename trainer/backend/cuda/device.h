#pragma once

// What an operation of the CUDA backend computes with, and where places lie. Operations are free
// functions (operations.h) that enqueue kernels and products on the device's one stream.

#include <type_traits>

#include "trainer/backend/backend.h"
#include "trainer/backend/cuda/device_memory.h"
#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/matrix_product.h"

namespace gyre::cuda {

/// What Place::memory points to.
struct Allocation {
  void* data = nullptr;
  int64_t count = 0;
  // Of real numbers that products have taken: all of them rounded to bf16, and whether they still
  // are what `data` says.
  Bf16* narrow = nullptr;
  bool narrow_is_current = false;
};

template <typename Element, typename Tag>
Element* Data(const Place<Tag>& place) {
  if (place.memory == nullptr) return nullptr;
  return static_cast<Element*>(static_cast<Allocation*>(place.memory)->data) + place.offset;
}
inline float* Data(const Reals& place) { return Data<float>(place); }
inline int32_t* Data(const Ints& place) { return Data<int32_t>(place); }

struct Device {
  cudaStream_t stream;
  DeviceMemory& memory;
  MatrixProducts& products;
  int64_t logits;  // that cross-entropy holds at a time

  /// Weights as products take them.
  template <typename Narrow>
  const Narrow* Weight(const Reals& place) const {
    if constexpr (std::is_same_v<Narrow, float>) {
      return Data(place);
    } else {
      Allocation& allocation = *static_cast<Allocation*>(place.memory);
      if (allocation.narrow == nullptr) {
        allocation.narrow = static_cast<Bf16*>(
            memory.Take(allocation.count * static_cast<int64_t>(sizeof(Bf16)), allocation.count));
      }
      if (!allocation.narrow_is_current) {
        Narrowed(stream, static_cast<const float*>(allocation.data), allocation.count,
                 allocation.narrow);
        allocation.narrow_is_current = true;
      }
      return allocation.narrow + place.offset;
    }
  }
};

/// Real numbers as products take them, for the time of one operation: themselves, or rounded.
template <typename Narrow>
class NarrowCopy {
 public:
  NarrowCopy(const Device& device, const float* x, int64_t count)
      : rounded_(device.memory, std::is_same_v<Narrow, float> ? 0 : count) {
    if constexpr (std::is_same_v<Narrow, float>) {
      data_ = x;
    } else {
      Narrowed(device.stream, x, count, rounded_);
      data_ = rounded_;
    }
  }
  operator const Narrow*() const { return data_; }

 private:
  Temporary<Narrow> rounded_;
  const Narrow* data_;
};

/// y (rows, outputs) = x (rows, inputs) weight^T, plus `addend`; weight (outputs, inputs).
template <typename Narrow, typename Out>
void MultiplyRows(const Device& device, int64_t rows, int64_t inputs, int64_t outputs,
                  const Narrow* x, const Narrow* weight, Out* y,
                  const std::type_identity_t<Out>* addend = nullptr) {
  device.products.Multiply(MatrixProduct<Narrow, Out>{.rows = rows,
                                                      .columns = outputs,
                                                      .inner = inputs,
                                                      .a = {x, inputs, false},
                                                      .b = {weight, inputs, true},
                                                      .out = {y, outputs, false},
                                                      .addend = addend});
}

/// dx (rows, inputs) = dy (rows, outputs) weight.
template <typename Narrow, typename Out>
void MultiplyBack(const Device& device, int64_t rows, int64_t inputs, int64_t outputs,
                  const Narrow* dy, int64_t dy_stride, const Narrow* weight, Out* dx) {
  device.products.Multiply(MatrixProduct<Narrow, Out>{.rows = rows,
                                                      .columns = inputs,
                                                      .inner = outputs,
                                                      .a = {dy, dy_stride, false},
                                                      .b = {weight, inputs, false},
                                                      .out = {dx, inputs, false}});
}

/// d_weight (outputs, inputs) += dy^T x.
template <typename Narrow>
void AddWeightGradient(const Device& device, int64_t rows, int64_t inputs, int64_t outputs,
                       const Narrow* dy, int64_t dy_stride, const Narrow* x, float* d_weight) {
  device.products.Multiply(MatrixProduct<Narrow, float>{.rows = outputs,
                                                        .columns = inputs,
                                                        .inner = rows,
                                                        .a = {dy, dy_stride, true},
                                                        .b = {x, inputs, false},
                                                        .out = {d_weight, inputs, false},
                                                        .addend = d_weight});
}

}  // namespace gyre::cuda
