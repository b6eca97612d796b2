#pragma once

// Matrix products by cuBLASLt: bf16 summed in float32, or float32, which kTf32 may round to ten
// bits. The library's first choice for a shape is remembered and used again: it is a function of
// the shape, the device and the library's version, and so are the bits. Where it splits a sum, the
// parts are kept in float32 and added in an order of their own.

#include <cublasLt.h>
#include <cuda_bf16.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "trainer/backend/backend.h"
#include "trainer/backend/cuda/device_memory.h"

namespace gyre::cuda {

/// A row-major matrix. `transposed`: the product takes its transpose.
template <typename Element>
struct Matrix {
  Element* data = nullptr;
  int64_t stride = 0;
  bool transposed = false;
};

/// out (rows, columns) = a (rows, inner) b (inner, columns), plus `addend` if there is one, which
/// has the stride of `out` and may be `out`.
template <typename In, typename Out>
struct MatrixProduct {
  int64_t rows = 0, columns = 0, inner = 0;
  Matrix<const In> a, b;
  Matrix<Out> out;
  const Out* addend = nullptr;
};

class MatrixProducts {
 public:
  MatrixProducts(int device, cudaStream_t stream, Precision precision, DeviceMemory& memory);
  ~MatrixProducts();
  MatrixProducts(const MatrixProducts&) = delete;
  MatrixProducts& operator=(const MatrixProducts&) = delete;

  template <typename In, typename Out>
  void Multiply(const MatrixProduct<In, Out>& product);

 private:
  struct Side {
    const void* data = nullptr;
    int64_t stride = 0;
    bool transposed = false;
    int alignment() const;
  };
  struct Call;
  struct Plan;
  // Strides, shapes, types and alignments: whatever the library's choice may depend on.
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int, int, int>;

  void Multiply(const Call& call);
  const Plan& PlanOf(const Call& call);

  const cudaStream_t stream_;
  const cublasComputeType_t compute_;
  DeviceMemory& memory_;
  void* workspace_ = nullptr;
  cublasLtHandle_t handle_ = nullptr;
  std::map<Key, Plan> plans_;
};

/// "cuBLASLt 13.0.2".
std::string MatrixProductLibrary();

}  // namespace gyre::cuda
