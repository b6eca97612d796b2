#pragma once

// What stands behind the opaque types of cuBLASLt.

#include <cublasLt.h>

#include <cstdint>

#include "tests/emulation/number_types.h"

namespace gyre::emulation {

struct Product {  // cublasLtMatmulDesc_t
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  bool transpose_a = false, transpose_b = false;
};

struct Layout {  // cublasLtMatrixLayout_t; column-major
  NumberType type = NumberType::kFloat;
  int64_t rows = 0, columns = 0;
  int64_t stride = 0;  // from one column to the next

  int64_t bytes() const {
    return columns == 0 ? 0 : ((columns - 1) * stride + rows) * static_cast<int64_t>(BytesOf(type));
  }
};

struct Alignments {
  uint32_t a = 256, b = 256, c = 256, d = 256;  // bytes
};

struct Preference {  // cublasLtMatmulPreference_t
  uint64_t most_workspace_bytes = 0;
  Alignments alignments;
};

struct Layouts {
  Layout a, b, c, d;
};

/// cublasLtMatmulAlgo_t: what it was chosen for, and so may be used for.
struct Algorithm {
  uint64_t shape_hash = 0;
  uint64_t workspace_bytes = 0;
  Alignments alignments;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

}  // namespace gyre::emulation
