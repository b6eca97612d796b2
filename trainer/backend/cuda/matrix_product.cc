#include "trainer/backend/cuda/matrix_product.h"

#include <algorithm>
#include <type_traits>

#include "trainer/backend/cuda/check.h"
#include "trainer/backend/cuda/scratch_bytes.h"

namespace gyre::cuda {
namespace {

constexpr size_t kWorkspaceBytes = kProductBytes;

void Check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const bool memory = status == CUBLAS_STATUS_ALLOC_FAILED;
  throw CudaError{{memory ? BackendError::Kind::kOutOfMemory : BackendError::Kind::kDevice,
                   std::string(call) + ": " + cublasLtGetStatusString(status)}};
}
#define GYRE_CUBLAS(call) Check((call), #call)

template <typename Element>
constexpr cudaDataType_t kType = std::is_same_v<Element, float> ? CUDA_R_32F : CUDA_R_16BF;

}  // namespace

struct MatrixProducts::Call {
  int64_t rows = 0, columns = 0, inner = 0;
  Side a, b, out;
  const void* addend = nullptr;
  cudaDataType_t in_type = CUDA_R_32F, out_type = CUDA_R_32F;
};

// Owned by the handle's map; made once a shape.
struct MatrixProducts::Plan {
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, out = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};

  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    for (const cublasLtMatrixLayout_t layout : {a, b, out}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(description);
  }

  template <typename Value>
  void Set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    GYRE_CUBLAS(cublasLtMatmulDescSetAttribute(description, attribute, &value, sizeof value));
  }
};

int MatrixProducts::Side::alignment() const {
  const auto address = reinterpret_cast<uintptr_t>(data);
  return static_cast<int>(std::min<uintptr_t>(256, address & (~address + 1)));
}

MatrixProducts::MatrixProducts(int device, cudaStream_t stream, Precision precision,
                               DeviceMemory& memory)
    : stream_(stream),
      compute_(precision == Precision::kTf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
      memory_(memory) {
  GYRE_CUDA(cudaSetDevice(device));
  GYRE_CUBLAS(cublasLtCreate(&handle_));
  workspace_ = memory_.Take(kWorkspaceBytes, kWorkspaceBytes);
}

MatrixProducts::~MatrixProducts() {
  plans_.clear();
  if (workspace_ != nullptr) memory_.Give(workspace_);
  cublasLtDestroy(handle_);
}

// The library's matrices are column-major: a row-major one is its own transpose there, so out^T =
// b^T a^T is computed, with b first.
const MatrixProducts::Plan& MatrixProducts::PlanOf(const Call& call) {
  const int flags = call.a.transposed | call.b.transposed << 1 | (call.addend != nullptr) << 2 |
                    (call.addend == call.out.data) << 3 | (call.in_type == CUDA_R_32F) << 4 |
                    (call.out_type == CUDA_R_32F) << 5;
  const int out_alignment = std::min(
      call.out.alignment(), Side{call.addend, 0, false}.alignment() | (call.addend ? 0 : 256));
  const Key key{
      call.rows,     call.columns,    call.inner, call.a.stride,
      call.b.stride, call.out.stride, flags,      call.a.alignment() << 16 | call.b.alignment(),
      out_alignment};
  const auto [found, is_new] = plans_.try_emplace(key);
  Plan& plan = found->second;
  if (!is_new) return plan;
  GYRE_CUBLAS(cublasLtMatmulDescCreate(&plan.description, compute_, CUDA_R_32F));
  plan.Set(CUBLASLT_MATMUL_DESC_TRANSA, call.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  plan.Set(CUBLASLT_MATMUL_DESC_TRANSB, call.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  const auto layout = [](cublasLtMatrixLayout_t* made, cudaDataType_t type, const Side& side,
                         int64_t rows, int64_t columns) {
    if (side.transposed) std::swap(rows, columns);
    GYRE_CUBLAS(cublasLtMatrixLayoutCreate(made, type, columns, rows, side.stride));
  };
  layout(&plan.b, call.in_type, call.b, call.inner, call.columns);
  layout(&plan.a, call.in_type, call.a, call.rows, call.inner);
  layout(&plan.out, call.out_type, call.out, call.rows, call.columns);

  cublasLtMatmulPreference_t preference = nullptr;
  GYRE_CUBLAS(cublasLtMatmulPreferenceCreate(&preference));
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    GYRE_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
         uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t(call.b.alignment()));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t(call.a.alignment()));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t(out_alignment));
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t(out_alignment));
  cublasLtMatmulHeuristicResult_t best = {};
  int found_algorithms = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle_, plan.description, plan.b, plan.a, plan.out, plan.out,
                                     preference, 1, &best, &found_algorithms);
  cublasLtMatmulPreferenceDestroy(preference);
  Check(found_algorithms > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED,
        "cublasLtMatmulAlgoGetHeuristic");
  plan.algorithm = best.algo;
  return plan;
}

void MatrixProducts::Multiply(const Call& call) {
  if (call.rows == 0 || call.columns == 0) return;
  const Plan& plan = PlanOf(call);
  const float one = 1, factor = call.addend != nullptr ? 1 : 0;
  const void* addend = call.addend != nullptr ? call.addend : call.out.data;
  GYRE_CUBLAS(cublasLtMatmul(handle_, plan.description, &one, call.b.data, plan.b, call.a.data,
                             plan.a, &factor, addend, plan.out, const_cast<void*>(call.out.data),
                             plan.out, &plan.algorithm, workspace_, kWorkspaceBytes, stream_));
}

template <typename In, typename Out>
void MatrixProducts::Multiply(const MatrixProduct<In, Out>& p) {
  const auto side = [](const auto& matrix) {
    return Side{matrix.data, matrix.stride, matrix.transposed};
  };
  Multiply(Call{p.rows, p.columns, p.inner, side(p.a), side(p.b), side(p.out), p.addend, kType<In>,
                kType<Out>});
}

template void MatrixProducts::Multiply(const MatrixProduct<float, float>&);
template void MatrixProducts::Multiply(const MatrixProduct<__nv_bfloat16, float>&);
template void MatrixProducts::Multiply(const MatrixProduct<__nv_bfloat16, __nv_bfloat16>&);

std::string MatrixProductLibrary() {
  const size_t version = cublasLtGetVersion();
  return "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

}  // namespace gyre::cuda
