// The products of cuBLASLt, in plain loops, and what they ask of their arguments. A product may be
// given only to the algorithm that was chosen for its shape, with the alignments and the workspace
// that were promised then; the workspace's content is destroyed.

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/emulation/cublaslt_types.h"
#include "tests/emulation/error.h"
#include "tests/emulation/memory.h"
#include "tests/emulation/sanitizers.h"
#include "tests/emulation/stream.h"

namespace gyre::emulation {
namespace {

struct Operands {
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
};

struct Extents {
  int64_t rows = 0, columns = 0, inner = 0;
};

Extents ExtentsOf(const Product& product, const Layouts& layouts) {
  return {layouts.d.rows, layouts.d.columns,
          product.transpose_a ? layouts.a.rows : layouts.a.columns};
}

bool Agree(const Product& product, const Layouts& layouts) {
  const auto [rows, columns, inner] = ExtentsOf(product, layouts);
  const Layout &a = layouts.a, &b = layouts.b, &c = layouts.c, &d = layouts.d;
  for (const Layout* layout : {&a, &b, &c, &d}) {
    if (layout->rows <= 0 || layout->columns <= 0 || layout->stride < layout->rows) return false;
  }
  return (product.transpose_a ? a.columns : a.rows) == rows &&
         (product.transpose_b ? b.columns : b.rows) == inner &&
         (product.transpose_b ? b.rows : b.columns) == columns && c.rows == rows &&
         c.columns == columns;
}

bool Supported(const Product& product, const Layouts& layouts) {
  const NumberType in = layouts.a.type, out = layouts.d.type;
  if (layouts.b.type != in || layouts.c.type != out) return false;
  if (in == NumberType::kFloat) return out == NumberType::kFloat;
  return product.compute == CUBLAS_COMPUTE_32F;
}

uint64_t ShapeHash(const Product& product, const Layouts& layouts) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  const auto add = [&](uint64_t value) { hash = (hash ^ value) * 0x100000001b3; };
  add(product.compute);
  add(product.transpose_a);
  add(product.transpose_b);
  for (const Layout* layout : {&layouts.a, &layouts.b, &layouts.c, &layouts.d}) {
    add(static_cast<uint64_t>(layout->type));
    add(layout->rows);
    add(layout->columns);
    add(layout->stride);
  }
  return hash;
}

/// To ten bits of mantissa, to nearest.
float RoundToTf32(float value) {
  constexpr uint32_t kDropped = 13;
  const uint32_t bits = std::bit_cast<uint32_t>(value) + (1u << (kDropped - 1));
  return std::bit_cast<float>(bits >> kDropped << kDropped);
}

/// A matrix as the product takes it: column-major and without gaps.
std::vector<float> Gather(const void* data, const Layout& layout, bool transpose, bool tf32) {
  const int64_t rows = transpose ? layout.columns : layout.rows;
  const int64_t columns = transpose ? layout.rows : layout.columns;
  std::vector<float> values(rows * columns);
  for (int64_t column = 0; column < columns; ++column) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t index = transpose ? row * layout.stride + column : column * layout.stride + row;
      const float value = NumberAt(data, layout.type, index);
      values[column * rows + row] = tf32 ? RoundToTf32(value) : value;
    }
  }
  return values;
}

void Multiply(const Product& product, const Layouts& layouts, const Operands& operands, float alpha,
              float beta) {
  const auto [rows, columns, inner] = ExtentsOf(product, layouts);
  const bool tf32 = product.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const std::vector<float> a = Gather(operands.a, layouts.a, product.transpose_a, tf32);
  const std::vector<float> b = Gather(operands.b, layouts.b, product.transpose_b, tf32);
  std::vector<float> sums(rows);
  for (int64_t column = 0; column < columns; ++column) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t k = 0; k < inner; ++k) {
      const float factor = b[column * inner + k];
      for (int64_t row = 0; row < rows; ++row) sums[row] += a[k * rows + row] * factor;
    }
    for (int64_t row = 0; row < rows; ++row) {
      float value = alpha * sums[row];
      if (beta != 0) {
        value += beta * NumberAt(operands.c, layouts.c.type, column * layouts.c.stride + row);
      }
      SetNumberAt(operands.d, layouts.d.type, column * layouts.d.stride + row, value);
    }
  }
}

bool Overlap(const void* one, int64_t one_bytes, const void* other, int64_t other_bytes) {
  const auto *first = static_cast<const char*>(one), *second = static_cast<const char*>(other);
  return first < second + other_bytes && second < first + one_bytes;
}

void CheckPlaces(const Layouts& layouts, const Operands& operands, float beta) {
  RequireDeviceMemory(operands.a, layouts.a.bytes(), "A of cublasLtMatmul");
  RequireDeviceMemory(operands.b, layouts.b.bytes(), "B of cublasLtMatmul");
  RequireDeviceMemory(operands.d, layouts.d.bytes(), "D of cublasLtMatmul");
  if (beta != 0) RequireDeviceMemory(operands.c, layouts.c.bytes(), "C of cublasLtMatmul");
  const int64_t bytes = layouts.d.bytes();
  if (Overlap(operands.a, layouts.a.bytes(), operands.d, bytes) ||
      Overlap(operands.b, layouts.b.bytes(), operands.d, bytes)) {
    Fail("cublasLtMatmul: D overlaps A or B");
  }
  const bool in_place = operands.c == operands.d && layouts.c.stride == layouts.d.stride;
  if (beta != 0 && !in_place && Overlap(operands.c, layouts.c.bytes(), operands.d, bytes)) {
    Fail("cublasLtMatmul: D overlaps C and isn't C");
  }
}

void CheckAlgorithm(const Algorithm& algorithm, uint64_t shape_hash, const Operands& operands,
                    void* workspace, size_t workspace_bytes) {
  if (algorithm.shape_hash != shape_hash) {
    Fail("cublasLtMatmul: the algorithm was chosen for another product");
  }
  const auto check = [](const char* name, const void* data, uint32_t alignment) {
    if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
      Fail(std::string("cublasLtMatmul: ") + name + " isn't aligned to " +
           std::to_string(alignment) + " bytes, as it was promised when the algorithm was chosen");
    }
  };
  check("A", operands.a, algorithm.alignments.a);
  check("B", operands.b, algorithm.alignments.b);
  check("C", operands.c, algorithm.alignments.c);
  check("D", operands.d, algorithm.alignments.d);
  if (workspace_bytes < algorithm.workspace_bytes) {
    Fail("cublasLtMatmul: the workspace is smaller than the algorithm needs");
  }
  RequireDeviceMemory(workspace, workspace_bytes, "the workspace of cublasLtMatmul");
}

Layouts TakeLayouts(cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                    cublasLtMatrixLayout_t d) {
  return {*reinterpret_cast<const Layout*>(a), *reinterpret_cast<const Layout*>(b),
          *reinterpret_cast<const Layout*>(c), *reinterpret_cast<const Layout*>(d)};
}

}  // namespace
}  // namespace gyre::emulation

using namespace gyre::emulation;

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  constexpr uint64_t kWorkspaceBytes = 4096;
  const auto& product = *reinterpret_cast<const Product*>(description);
  const auto& preferred = *reinterpret_cast<const Preference*>(preference);
  const Layouts layouts = TakeLayouts(a, b, c, d);
  *found = 0;
  if (asked < 1 || !Agree(product, layouts)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!Supported(product, layouts)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Algorithm algorithm = {ShapeHash(product, layouts),
                               std::min(preferred.most_workspace_bytes, kWorkspaceBytes),
                               preferred.alignments};
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspace_bytes;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* chosen,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  const auto product = *reinterpret_cast<const Product*>(description);
  const Layouts layouts = TakeLayouts(a_layout, b_layout, c_layout, d_layout);
  const Operands operands = {a, b, c, d};
  if (!Agree(product, layouts)) return CUBLAS_STATUS_INVALID_VALUE;
  if (!Supported(product, layouts)) return CUBLAS_STATUS_NOT_SUPPORTED;
  float factors[2];
  std::memcpy(&factors[0], alpha, sizeof(float));
  std::memcpy(&factors[1], beta, sizeof(float));
  CheckPlaces(layouts, operands, factors[1]);
  Algorithm algorithm;
  if (chosen == nullptr) Fail("cublasLtMatmul without an algorithm is not emulated");
  std::memcpy(static_cast<void*>(&algorithm), chosen, sizeof(algorithm));
  CheckAlgorithm(algorithm, ShapeHash(product, layouts), operands, workspace, workspace_bytes);
  Submit(stream, [=, alpha = factors[0], beta = factors[1]] {
    const DeviceMemoryOpen open;
    FillWithNaN(workspace, algorithm.workspace_bytes);
    Multiply(product, layouts, operands, alpha, beta);
  });
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
