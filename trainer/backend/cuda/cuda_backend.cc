#include "trainer/backend/cuda/cuda_backend.h"

#include <algorithm>
#include <vector>

#include "trainer/backend/cuda/check.h"
#include "trainer/backend/cuda/operations.h"
#include "trainer/backend/cuda/scratch_bytes.h"
#include "trainer/collective/communicator.h"

namespace gyre::cuda {
namespace {

// Numbers that cross between machine and device at a time.
constexpr size_t kCrossing = size_t{1} << 20;

float ToFloat(float value) { return value; }
float ToFloat(Bf16 value) { return __bfloat162float(value); }
template <typename Element>
Element FromDouble(double value) {
  if constexpr (std::is_same_v<Element, Bf16>) {
    return __float2bfloat16_rn(static_cast<float>(value));
  } else {
    return static_cast<Element>(value);
  }
}

/// A stream of its own, destroyed last.
struct Stream {
  explicit Stream(int device) {
    GYRE_CUDA(cudaSetDevice(device));
    GYRE_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  ~Stream() { cudaStreamDestroy(stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t stream = nullptr;
};

template <typename Narrow>
class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const CudaOptions& options)
      : options_(options),
        stream_(options.device),
        memory_(options.device, stream_.stream),
        products_(options.device, stream_.stream, options.precision, memory_),
        device_{stream_.stream, memory_, products_, options.logits} {}
  ~CudaBackend() override { cudaStreamSynchronize(stream_.stream); }

  BackendError Allocate(int64_t count, Reals* place) override {
    return AllocatePlace<float>(count, place);
  }
  BackendError Allocate(int64_t count, Narrows* place) override {
    return AllocatePlace<Narrow>(count, place);
  }
  BackendError Allocate(int64_t count, Ints* place) override {
    return AllocatePlace<int32_t>(count, place);
  }
  void Free(Reals place) override { FreeAllocation(place.memory); }
  void Free(Narrows place) override { FreeAllocation(place.memory); }
  void Free(Ints place) override { FreeAllocation(place.memory); }
  // What was taken at once and given back stays with the pool, and is there for every operation.
  BackendError Reserve(const WorkspaceShape& shape) override {
    return Try([&] {
      const int most = LargestHeadDim();
      if (shape.head_dim > most) {
        throw CudaError{{BackendError::Kind::kDevice,
                         "head_dim " + std::to_string(shape.head_dim) + " is over " +
                             std::to_string(most) +
                             ", the most that the CUDA backend has on this device"}};
      }
      const int64_t bytes = ScratchBytes(shape, sizeof(Narrow), options_.logits);
      const Temporary<char> all(memory_, bytes);
    });
  }

  void Write(Reals to, std::span<const double> values) override {
    Stale(to);
    WritePlace<float>(to, values);
  }
  void Write(Narrows to, std::span<const double> values) override {
    WritePlace<Narrow>(to, values);
  }
  void Write(Ints to, std::span<const int32_t> values) override { WritePlace<int32_t>(to, values); }
  BackendError Read(Reals from, std::span<double> values) override {
    return ReadPlace<float>(from, values);
  }
  BackendError Read(Narrows from, std::span<double> values) override {
    return ReadPlace<Narrow>(from, values);
  }
  void Zero(Reals place, int64_t count) override {
    Stale(place);
    Run([&] {
      GYRE_CUDA(cudaMemsetAsync(Data(place), 0, static_cast<size_t>(count) * sizeof(float),
                                device_.stream));
    });
  }

  void EmbeddingForward(const Embedding& op) override {
    Run([&] { cuda::EmbeddingForward(device_, op); });
  }
  void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) override {
    Run([&] { cuda::EmbeddingBackward(device_, op, dx, d_table); });
  }
  void NormForward(const Norm& op) override {
    Run([&] { cuda::NormForward(device_, op); });
  }
  void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) override {
    Run([&] { cuda::NormBackward(device_, op, dy, dx, d_weight); });
  }
  void NormQkvForward(const NormQkv& op) override {
    Run([&] { cuda::NormQkvForward<Narrow>(device_, op); });
  }
  void NormQkvBackward(const NormQkv& op, const NormQkvGradients& gradients) override {
    Run([&] { cuda::NormQkvBackward<Narrow>(device_, op, gradients); });
  }
  void AttentionForward(const Attention& op) override {
    Run([&] { cuda::AttentionForward<Narrow>(device_, op); });
  }
  void AttentionBackward(const Attention& op, const AttentionGradients& gradients) override {
    Run([&] { cuda::AttentionBackward<Narrow>(device_, op, gradients); });
  }
  void CollectAttentionStatistics(const AttentionStatistics& op) override {
    Run([&] { cuda::CollectAttentionStatistics<Narrow>(device_, op); });
  }
  void LinearResidualForward(const LinearResidual& op) override {
    Run([&] { cuda::LinearResidualForward<Narrow>(device_, op); });
  }
  void LinearResidualBackward(const LinearResidual& op,
                              const LinearResidualGradients& gradients) override {
    Run([&] { cuda::LinearResidualBackward<Narrow>(device_, op, gradients); });
  }
  void MlpForward(const Mlp& op) override {
    Run([&] { cuda::MlpForward<Narrow>(device_, op); });
  }
  void MlpBackward(const Mlp& op, const MlpGradients& gradients) override {
    Run([&] { cuda::MlpBackward<Narrow>(device_, op, gradients); });
  }
  void LinearCrossEntropyForward(const LinearCrossEntropy& op) override {
    Run([&] { cuda::LinearCrossEntropyForward<Narrow>(device_, op); });
  }
  void LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                         const LinearCrossEntropyGradients& gradients) override {
    Run([&] { cuda::LinearCrossEntropyForwardBackward<Narrow>(device_, op, gradients); });
  }
  void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) override {
    Run([&] { cuda::Linear<Narrow>(device_, tokens, inputs, outputs, x, weight, y); });
  }
  void Norm2(Reals x, int64_t count, Reals norm) override {
    Run([&] { cuda::Norm2(device_, x, count, norm); });
  }
  void AdamWStep(const AdamW& op) override {
    Run([&] { cuda::AdamWStep(device_, op); });
  }
  void AllReduce(Reals place, int64_t count, Communicator& ranks) override {
    Stale(place);
    if (error_.ok()) error_ = ranks.Sum(Data(place), count, device_.stream);
  }

 private:
  // Attention over wide heads takes more of a block's shared memory than small devices have.
  int LargestHeadDim() const {
    constexpr int kWideHead = 128, kWideBytes = 102 << 10;
    int shared = 0;
    GYRE_CUDA(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, options_.device));
    return shared < kWideBytes ? kWideHead : kMaxHeadDim;
  }

  template <typename Work>
  BackendError Try(const Work& work) {
    try {
      GYRE_CUDA(cudaSetDevice(options_.device));
      work();
      return {};
    } catch (const CudaError& thrown) {
      return thrown.error;
    }
  }
  // After an error nothing is computed any more; Read says which it was.
  template <typename Work>
  void Run(const Work& work) {
    if (error_.ok()) error_ = Try(work);
  }

  template <typename Element, typename Tag>
  BackendError AllocatePlace(int64_t count, Place<Tag>* place) {
    constexpr int64_t kSize = sizeof(Element);
    return Try([&] {
      const int64_t bytes = count < 0 || count > INT64_MAX / kSize ? -1 : count * kSize;
      auto allocation = std::make_unique<Allocation>();
      allocation->data = memory_.Take(bytes, count);
      allocation->count = count;
      place->memory = allocation.release();
      place->offset = 0;
      GYRE_CUDA(
          cudaMemsetAsync(Data<Element>(*place), 0, static_cast<size_t>(bytes), device_.stream));
    });
  }
  void FreeAllocation(void* memory) {
    const std::unique_ptr<Allocation> allocation(static_cast<Allocation*>(memory));
    if (allocation->narrow != nullptr) memory_.Give(allocation->narrow);
    memory_.Give(allocation->data);
  }
  static void Stale(Reals place) {
    static_cast<Allocation*>(place.memory)->narrow_is_current = false;
  }

  // Memory that the driver may page is copied before the call returns.
  template <typename Element, typename Tag, typename Value>
  void WritePlace(Place<Tag> to, std::span<const Value> values) {
    Run([&] {
      std::vector<Element> piece;
      for (size_t at = 0; at < values.size(); at += kCrossing) {
        const size_t count = std::min(kCrossing, values.size() - at);
        piece.resize(count);
        std::transform(values.begin() + at, values.begin() + at + count, piece.begin(),
                       FromDouble<Element>);
        GYRE_CUDA(cudaMemcpyAsync(Data<Element>(to) + at, piece.data(), count * sizeof(Element),
                                  cudaMemcpyHostToDevice, device_.stream));
        GYRE_CUDA(cudaStreamSynchronize(device_.stream));
      }
    });
  }
  template <typename Element, typename Tag>
  BackendError ReadPlace(Place<Tag> from, std::span<double> values) {
    Run([&] {
      std::vector<Element> piece;
      for (size_t at = 0; at < values.size(); at += kCrossing) {
        const size_t count = std::min(kCrossing, values.size() - at);
        piece.resize(count);
        GYRE_CUDA(cudaMemcpyAsync(piece.data(), Data<Element>(from) + at, count * sizeof(Element),
                                  cudaMemcpyDeviceToHost, device_.stream));
        GYRE_CUDA(cudaStreamSynchronize(device_.stream));
        std::transform(piece.begin(), piece.end(), values.begin() + at,
                       [](Element value) { return static_cast<double>(ToFloat(value)); });
      }
    });
    return error_;
  }

  const CudaOptions options_;
  Stream stream_;
  DeviceMemory memory_;
  MatrixProducts products_;
  Device device_;
  BackendError error_;
};

}  // namespace

BackendError CreateCudaBackend(const CudaOptions& options, std::unique_ptr<Backend>* backend) {
  try {
    if (options.precision == Precision::kBf16) {
      *backend = std::make_unique<CudaBackend<Bf16>>(options);
    } else {
      *backend = std::make_unique<CudaBackend<float>>(options);
    }
    return {};
  } catch (const CudaError& thrown) {
    return thrown.error;
  }
}

}  // namespace gyre::cuda
