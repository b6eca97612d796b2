// How cuBLASLt is told about a product: descriptions, layouts and preferences.

#include <cstring>
#include <string>

#include "tests/emulation/cublaslt_types.h"
#include "tests/emulation/error.h"

struct cublasLtContext {};

namespace gyre::emulation {
namespace {

/// An attribute's value, or INVALID_VALUE if it hasn't the size that the header says.
template <typename Value>
cublasStatus_t Take(const void* from, size_t bytes, Value* to) {
  if (from == nullptr || bytes != sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t TakeTranspose(const void* from, size_t bytes, bool* transpose) {
  int32_t operation = 0;
  const cublasStatus_t status = Take(from, bytes, &operation);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (operation != CUBLAS_OP_N && operation != CUBLAS_OP_T) return CUBLAS_STATUS_INVALID_VALUE;
  *transpose = operation == CUBLAS_OP_T;
  return CUBLAS_STATUS_SUCCESS;
}

/// An attribute that is emulated with one value only.
cublasStatus_t TakeOnly(int32_t only, const void* from, size_t bytes) {
  int32_t value = 0;
  const cublasStatus_t status = Take(from, bytes, &value);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  return value == only ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

[[noreturn]] void FailAttribute(const char* of, int attribute) {
  Fail(std::string(of) + ": attribute " + std::to_string(attribute) + " is not emulated");
}

}  // namespace
}  // namespace gyre::emulation

using namespace gyre::emulation;

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
size_t cublasLtGetVersion() {
  return CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH;
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "the operation completed successfully";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality requested is not supported";
    default:
      return "an error that the emulation does not know";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  if (scale != CUDA_R_32F ||
      (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_FAST_TF32)) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  *description = reinterpret_cast<cublasLtMatmulDesc_t>(new Product{compute});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  delete reinterpret_cast<Product*>(description);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  auto* product = reinterpret_cast<Product*>(description);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return TakeTranspose(value, bytes, &product->transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return TakeTranspose(value, bytes, &product->transpose_b);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return TakeOnly(CUBLASLT_POINTER_MODE_HOST, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return TakeOnly(CUBLASLT_EPILOGUE_DEFAULT, value, bytes);
    default:
      FailAttribute("cublasLtMatmulDescSetAttribute", attribute);
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  if (type != CUDA_R_32F && type != CUDA_R_16BF) return CUBLAS_STATUS_NOT_SUPPORTED;
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{type == CUDA_R_32F ? NumberType::kFloat : NumberType::kBf16,
                 static_cast<int64_t>(rows), static_cast<int64_t>(columns), stride});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete reinterpret_cast<Layout*>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete reinterpret_cast<Preference*>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  auto* to = reinterpret_cast<Preference*>(preference);
  uint32_t ignored = 0;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Take(value, bytes, &to->most_workspace_bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return Take(value, bytes, &to->alignments.a);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return Take(value, bytes, &to->alignments.b);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return Take(value, bytes, &to->alignments.c);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Take(value, bytes, &to->alignments.d);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Take(value, bytes, &ignored);
    default:
      FailAttribute("cublasLtMatmulPreferenceSetAttribute", attribute);
  }
}

}  // extern "C"
