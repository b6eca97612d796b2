// Faults in how kernels are launched, streams waited for and libraries called.

#include <cublasLt.h>
#include <nccl.h>

#include <atomic>
#include <thread>

#include "tests/emulation/planted_fault.h"
#include "trainer/backend/cuda/kernels/gpu.h"
#include "trainer/backend/cuda/kernels/launch.h"

namespace gyre::planted {
namespace {

using cuda::Launch;

struct Arrays {
  const float* in = nullptr;
  float* out = nullptr;
};

__global__ void OnesKernel(float* out) { out[threadIdx.x] = 1; }
__global__ void AddOneKernel(float* out) { out[threadIdx.x] += 1; }
__global__ void StructKernel(Arrays arrays) { arrays.out[threadIdx.x] = arrays.in[threadIdx.x]; }

constexpr size_t kBytes = kThreads * sizeof(float);

cudaStream_t NewStream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return stream;
}

float* PinnedFloats(float first) {
  void* data = nullptr;
  cudaMallocHost(&data, kBytes);
  auto* floats = static_cast<float*>(data);
  floats[0] = first;
  return floats;
}

bool HostPointer() {
  std::vector<float> host(kThreads);
  Launch(nullptr, 1, kThreads, 0, OnesKernel, host.data());
  return true;
}

bool StructOf(bool host_pointer) {
  std::vector<float> host(kThreads);
  float *in = DeviceFloats(kThreads), *out = DeviceFloats(kThreads);
  cudaMemset(in, 0, kBytes);
  Launch(nullptr, 1, kThreads, 0, StructKernel, Arrays{host_pointer ? host.data() : in, out});
  return FirstOf(out) == 0;
}

bool HostReadsDeviceMemory() {
  const volatile float* device = DeviceFloats(kThreads);
  return device[0] != 0;
}

bool Freed() {
  float* out = DeviceFloats(kThreads);
  cudaFree(out);
  Launch(nullptr, 1, kThreads, 0, OnesKernel, out);
  return true;
}

bool FreedInStream() {
  const cudaStream_t stream = NewStream();
  float* out = DeviceFloats(kThreads);
  cudaFreeAsync(out, stream);
  Launch(stream, 1, kThreads, 0, OnesKernel, out);
  return true;
}

// Before what another stream still does with it, in the order that some seed has.
bool FreedTooEarly(bool wait) {
  const cudaStream_t worker = NewStream(), freer = NewStream();
  for (int i = 0; i < 8; ++i) {
    float* out = DeviceFloats(kThreads);
    Launch(worker, 1, kThreads, 0, OnesKernel, out);
    if (wait) cudaStreamSynchronize(worker);
    cudaFreeAsync(out, freer);
    cudaDeviceSynchronize();
  }
  return true;
}

bool OfAnotherDevice() {
  float* out = DeviceFloats(kThreads);
  cudaSetDevice(1);
  Launch(nullptr, 1, kThreads, 0, OnesKernel, out);
  return true;
}

bool SharedWithoutAsking() {
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = 100 << 10;
  return cudaLaunchKernelEx(&config, OnesKernel, DeviceFloats(kThreads)) == cudaSuccess;
}

bool Threads(int threads) {
  Launch(nullptr, 1, threads, 0, OnesKernel, DeviceFloats(2048));
  return true;
}

bool ReadBack(bool wait) {
  const cudaStream_t stream = NewStream();
  float *out = DeviceFloats(kThreads), *pinned = PinnedFloats(7);
  Launch(stream, 1, kThreads, 0, OnesKernel, out);
  cudaMemcpyAsync(pinned, out, kBytes, cudaMemcpyDeviceToHost, stream);
  if (wait) cudaStreamSynchronize(stream);
  return pinned[0] == 1;
}

bool SourceReused(bool wait) {
  const cudaStream_t stream = NewStream();
  float *out = DeviceFloats(kThreads), *pinned = PinnedFloats(7);
  cudaMemcpyAsync(out, pinned, kBytes, cudaMemcpyHostToDevice, stream);
  if (wait) cudaStreamSynchronize(stream);
  pinned[0] = 8;
  cudaStreamSynchronize(stream);
  return FirstOf(out) == 7;
}

bool TwoStreams(bool event_between) {
  const cudaStream_t first = NewStream(), second = NewStream();
  cudaEvent_t event = nullptr;
  cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  float* out = DeviceFloats(kThreads);
  bool right = true;
  for (int i = 0; i < 8; ++i) {
    Launch(first, 1, kThreads, 0, OnesKernel, out);
    if (event_between) {
      cudaEventRecord(event, first);
      cudaStreamWaitEvent(second, event, 0);
    }
    Launch(second, 1, kThreads, 0, AddOneKernel, out);
    cudaDeviceSynchronize();
    right = right && FirstOf(out) == 2;
  }
  return right;
}

/// A product of 32 x 32 matrices, and what may be wrong with it.
struct ProductFault {
  int64_t stride = 32;     // of A
  int64_t a_offset = 0;    // floats
  int64_t other_rows = 0;  // of A and D after the algorithm was chosen
  size_t workspace_bytes = 1 << 16;
  bool d_on_a = false;
};

bool MatrixProduct(const ProductFault& fault) {
  constexpr int64_t kSide = 32;
  constexpr size_t kWorkspaceBytes = 1 << 16;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t best = {};
  int found = 0;
  cublasLtCreate(&handle);
  cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, kSide, kSide, fault.stride);
  cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, kSide, kSide, kSide);
  cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, kSide, kSide, kSide);
  cublasLtMatmulPreferenceCreate(&preference);
  cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                       &kWorkspaceBytes, sizeof(kWorkspaceBytes));
  if (cublasLtMatmulAlgoGetHeuristic(handle, product, a, b, d, d, preference, 1, &best, &found) !=
          CUBLAS_STATUS_SUCCESS ||
      found != 1) {
    return false;
  }
  if (fault.other_rows != 0) {
    cublasLtMatrixLayoutDestroy(a);
    cublasLtMatrixLayoutDestroy(d);
    cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, fault.other_rows, kSide, kSide);
    cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, fault.other_rows, kSide, kSide);
  }
  const int count = kSide * kSide;
  float *left = DeviceFloats(count + 4), *right = DeviceFloats(count), *out = DeviceFloats(count);
  float* workspace = DeviceFloats(kWorkspaceBytes / sizeof(float));
  cudaMemset(left, 0, (count + 4) * sizeof(float));
  cudaMemset(right, 0, count * sizeof(float));
  if (fault.d_on_a) out = left;
  const float one = 1, zero = 0;
  const bool done = cublasLtMatmul(handle, product, &one, left + fault.a_offset, a, right, b, &zero,
                                   out, d, out, d, &best.algo, workspace, fault.workspace_bytes,
                                   nullptr) == CUBLAS_STATUS_SUCCESS;
  cublasLtMatmulPreferenceDestroy(preference);
  for (const cublasLtMatrixLayout_t layout : {a, b, d}) cublasLtMatrixLayoutDestroy(layout);
  cublasLtMatmulDescDestroy(product);
  cublasLtDestroy(handle);
  return done && FirstOf(out) == 0;
}

/// Ranks in threads add up rank + 1; the last one may do it with another count or device.
bool RanksAddUp(int ranks, size_t last_count, bool one_device) {
  constexpr size_t kCount = 50;
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  std::vector<std::exception_ptr> failures(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        cudaSetDevice(one_device ? 0 : rank);
        ncclComm_t comm = nullptr;
        if (ncclCommInitRank(&comm, ranks, id, rank) != ncclSuccess) return;
        const std::vector<float> values(kThreads, static_cast<float>(rank + 1));
        float* sums = DeviceFloats(kThreads);
        const cudaStream_t stream = NewStream();
        cudaMemcpyAsync(sums, values.data(), kBytes, cudaMemcpyHostToDevice, stream);
        ncclAllReduce(sums, sums, rank == ranks - 1 ? last_count : kCount, ncclFloat32, ncclSum,
                      comm, stream);
        cudaStreamSynchronize(stream);
        right += FirstOf(sums + kCount - 1) == static_cast<float>(ranks * (ranks + 1) / 2);
        ncclCommDestroy(comm);
      } catch (...) {
        failures[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return right == ranks;
}

}  // namespace

const std::vector<PlantedFault>& HostFaults() {
  static const std::vector<PlantedFault> faults = {
      {"host_pointer", HostPointer},
      {"host_pointer_in_struct", [] { return StructOf(true); }},
      {"struct", [] { return StructOf(false); }},
      {"host_reads_device_memory", HostReadsDeviceMemory},
      {"freed", Freed},
      {"freed_in_stream", FreedInStream},
      {"freed_too_early", [] { return FreedTooEarly(false); }},
      {"freed_after_wait", [] { return FreedTooEarly(true); }},
      {"of_another_device", OfAnotherDevice},
      {"shared_without_asking", SharedWithoutAsking},
      {"too_many_threads", [] { return Threads(1088); }},
      {"most_threads", [] { return Threads(1024); }},
      {"read_back_no_wait", [] { return ReadBack(false); }},
      {"read_back", [] { return ReadBack(true); }},
      {"source_reused", [] { return SourceReused(false); }},
      {"source_reused_after_wait", [] { return SourceReused(true); }},
      {"two_streams_no_event", [] { return TwoStreams(false); }},
      {"two_streams", [] { return TwoStreams(true); }},
      {"product_beyond_memory", [] { return MatrixProduct({.stride = 33}); }},
      {"product_misaligned", [] { return MatrixProduct({.a_offset = 4}); }},
      {"product_of_another_shape", [] { return MatrixProduct({.other_rows = 16}); }},
      {"product_workspace", [] { return MatrixProduct({.workspace_bytes = 0}); }},
      {"product_on_its_operand", [] { return MatrixProduct({.d_on_a = true}); }},
      {"product", [] { return MatrixProduct({}); }},
      {"ranks_disagree", [] { return RanksAddUp(2, 40, false); }},
      {"ranks_on_one_device", [] { return RanksAddUp(2, 50, true); }},
      {"ranks", [] { return RanksAddUp(4, 50, false); }},
  };
  return faults;
}

}  // namespace gyre::planted
