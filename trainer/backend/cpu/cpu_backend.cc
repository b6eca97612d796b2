#include "trainer/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "trainer/backend/cpu/device.h"
#include "trainer/backend/cpu/memory.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/processor.h"
#include "trainer/backend/cpu/scratch.h"
#include "trainer/collective/communicator.h"

namespace gyre {
namespace {

template <typename Element, typename Tag>
BackendError AllocatePlace(int64_t count, Place<Tag>* place) {
  constexpr int64_t kSize = sizeof(Element);
  void* memory =
      count < 0 || count > INT64_MAX / kSize ? nullptr : cpu::AllocateZeros(count * kSize);
  if (memory == nullptr) {
    return {BackendError::Kind::kOutOfMemory, "no memory for " + std::to_string(count) +
                                                  " numbers in one piece; a smaller model or "
                                                  "micro-batch needs less"};
  }
  *place = {memory, 0};
  return {};
}

/// Of that name, or nullptr: not supported here. Empty: the fastest.
const cpu::Kernels* SelectKernels(const std::string& instruction_set) {
  for (const cpu::Kernels* kernels : cpu::SupportedKernels()) {
    if (instruction_set.empty() || instruction_set == kernels->instruction_set) return kernels;
  }
  return nullptr;
}

// What GYRE_INSTRUCTIONS allows.
struct Allowed {
  Status status;
  std::string own;  // instruction set of our loops; empty: any

  /// Before the first use of the library, whose limit is set here.
  static const Allowed& Get() {
    static const Allowed allowed = FromEnvironment();
    return allowed;
  }

 private:
  static Allowed FromEnvironment() {
    const char* text = std::getenv("GYRE_INSTRUCTIONS");
    if (text == nullptr || *text == '\0') return {};
    const std::string name = text;
    if (SelectKernels(name) == nullptr) {
      return {InvalidArgument("GYRE_INSTRUCTIONS=" + name +
                              " is not supported by this processor or not one of amx, avx512_bf16, "
                              "avx512, avx2, baseline"),
              ""};
    }
    cpu::LimitProducts(name);
    return {OkStatus(), name};
  }
};

template <typename Element>
class CpuBackend : public Backend {
 public:
  CpuBackend(std::unique_ptr<cpu::ThreadPool> pool, const cpu::Kernels& kernels)
      : pool_(std::move(pool)),
        device_{{*pool_, kernels, workspace_}, cpu::KernelsOf(kernels, Element())} {}
  ~CpuBackend() override { cpu::ForgetProducts(); }

  BackendError Allocate(int64_t count, Reals* place) override {
    return AllocatePlace<float>(count, place);
  }
  BackendError Allocate(int64_t count, Narrows* place) override {
    return AllocatePlace<Element>(count, place);
  }
  BackendError Allocate(int64_t count, Ints* place) override {
    return AllocatePlace<int32_t>(count, place);
  }
  void Free(Reals place) override { cpu::FreeZeros(place.memory); }
  void Free(Narrows place) override { cpu::FreeZeros(place.memory); }
  void Free(Ints place) override { cpu::FreeZeros(place.memory); }
  BackendError Reserve(const WorkspaceShape& shape) override {
    using namespace cpu;
    return workspace_.Reserve(
        std::max({Size<QkvScratch<Element>>(shape),
                  Size<LinearScratch<Element>>(shape.heads * shape.head_dim, shape.hidden),
                  Size<MlpScratch<Element>>(shape), Size<AttentionScratch<Element>>(shape),
                  Size<StatisticsScratch>(shape), Size<CrossEntropyScratch<Element>>(shape),
                  Size<NormScratch>(shape.hidden), Size<Norm2Scratch>()}));
  }

  void Write(Reals to, std::span<const double> values) override {
    std::transform(values.begin(), values.end(), cpu::Data(to),
                   [](double value) { return static_cast<float>(value); });
  }
  void Write(Narrows to, std::span<const double> values) override {
    Element* out = cpu::Data<Element>(to);
    for (const double value : values) {
      const float real = static_cast<float>(value);
      device_.narrow.narrow(&real, 1, out++);
    }
  }
  void Write(Ints to, std::span<const int32_t> values) override {
    std::copy(values.begin(), values.end(), cpu::Data(to));
  }
  BackendError Read(Reals from, std::span<double> values) override {
    if (!Error().ok()) return Error();
    std::copy_n(cpu::Data(from), values.size(), values.begin());
    return {};
  }
  BackendError Read(Narrows from, std::span<double> values) override {
    if (!Error().ok()) return Error();
    const Element* in = cpu::Data<Element>(from);
    for (double& value : values) {
      float real = 0;
      device_.narrow.widen(in++, 1, &real);
      value = real;
    }
    return {};
  }
  void Zero(Reals place, int64_t count) override {
    pool_->Run([&](int thread) {
      const cpu::Range mine = cpu::Split({0, count}, device_.threads(), thread, cpu::kLanes);
      std::memset(cpu::Data(place) + mine.begin, 0,
                  static_cast<size_t>(mine.size()) * sizeof(float));
    });
  }

  void EmbeddingForward(const Embedding& op) override { cpu::EmbeddingForward(device_, op); }
  void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) override {
    cpu::EmbeddingBackward(device_, op, dx, d_table);
  }
  void NormForward(const Norm& op) override { cpu::NormForward(device_, op); }
  void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) override {
    if (Reserved<cpu::NormScratch>(op.hidden)) cpu::NormBackward(device_, op, dy, dx, d_weight);
  }
  void NormQkvForward(const NormQkv& op) override {
    if (Reserved<cpu::QkvScratch<Element>>(cpu::Shape(op))) cpu::NormQkvForward(device_, op);
  }
  void NormQkvBackward(const NormQkv& op, const NormQkvGradients& gradients) override {
    if (Reserved<cpu::QkvScratch<Element>>(cpu::Shape(op)))
      cpu::NormQkvBackward(device_, op, gradients);
  }
  void AttentionForward(const Attention& op) override {
    if (Reserved<cpu::AttentionScratch<Element>>(cpu::Shape(op)))
      cpu::AttentionForward(device_, op);
  }
  void AttentionBackward(const Attention& op, const AttentionGradients& gradients) override {
    if (Reserved<cpu::AttentionScratch<Element>>(cpu::Shape(op)))
      cpu::AttentionBackward(device_, op, gradients);
  }
  void CollectAttentionStatistics(const AttentionStatistics& op) override {
    if (Reserved<cpu::StatisticsScratch>(cpu::Shape(op.attention)))
      cpu::CollectAttentionStatistics(device_, op);
  }
  void LinearResidualForward(const LinearResidual& op) override {
    if (Reserved<cpu::LinearScratch<Element>>(op.inputs, op.outputs))
      cpu::LinearResidualForward(device_, op);
  }
  void LinearResidualBackward(const LinearResidual& op,
                              const LinearResidualGradients& gradients) override {
    if (Reserved<cpu::LinearScratch<Element>>(op.inputs, op.outputs))
      cpu::LinearResidualBackward(device_, op, gradients);
  }
  void MlpForward(const Mlp& op) override {
    if (Reserved<cpu::MlpScratch<Element>>(cpu::Shape(op))) cpu::MlpForward(device_, op);
  }
  void MlpBackward(const Mlp& op, const MlpGradients& gradients) override {
    if (Reserved<cpu::MlpScratch<Element>>(cpu::Shape(op)))
      cpu::MlpBackward(device_, op, gradients);
  }
  void LinearCrossEntropyForward(const LinearCrossEntropy& op) override {
    if (Reserved<cpu::CrossEntropyScratch<Element>>(cpu::Shape(op)))
      cpu::LinearCrossEntropyForward(device_, op);
  }
  void LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                         const LinearCrossEntropyGradients& gradients) override {
    if (Reserved<cpu::CrossEntropyScratch<Element>>(cpu::Shape(op)))
      cpu::LinearCrossEntropyForwardBackward(device_, op, gradients);
  }
  void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) override {
    if (Reserved<cpu::LinearScratch<Element>>(outputs, inputs)) {
      cpu::Linear(device_, tokens, inputs, outputs, x, weight, y);
    }
  }
  void Norm2(Reals x, int64_t count, Reals norm) override {
    if (Reserved<cpu::Norm2Scratch>()) cpu::Norm2(device_, x, count, norm);
  }
  void AdamWStep(const AdamW& op) override { cpu::AdamWStep(device_, op); }
  void AllReduce(Reals place, int64_t count, Communicator& ranks) override {
    if (error_.ok()) error_ = ranks.Sum(cpu::Data(place), count, nullptr);
  }

 private:
  // A caller that has planned with Reserve never allocates here. Without memory the operation is
  // left out.
  template <typename Scratch, typename... Shapes>
  bool Reserved(const Shapes&... shapes) {
    if (error_.ok()) error_ = workspace_.Reserve(Size<Scratch>(shapes...));
    return error_.ok();
  }
  template <typename Scratch, typename... Shapes>
  int64_t Size(const Shapes&... shapes) const {
    return Scratch(cpu::Carver(), shapes..., device_.threads()).size;
  }
  const BackendError& Error() {
    if (device_.product_failed && error_.ok()) {
      error_ = {BackendError::Kind::kOutOfMemory, "a matrix product found no memory"};
    }
    return error_;
  }

  std::unique_ptr<cpu::ThreadPool> pool_;
  cpu::Workspace workspace_;
  cpu::NarrowDevice<Element> device_;
  BackendError error_;
};

}  // namespace

Result<std::unique_ptr<Backend>> CreateCpuBackend(const CpuOptions& options) {
  if (options.threads < 1) return InvalidArgument("a backend needs at least one thread");
  GYRE_RETURN_IF_ERROR(Allowed::Get().status);
  const cpu::Kernels* kernels =
      SelectKernels(options.instruction_set.empty() ? Allowed::Get().own : options.instruction_set);
  if (kernels == nullptr) {
    return InvalidArgument("this processor has no instruction set '" + options.instruction_set +
                           "'");
  }
  const bool bf16 = options.precision == Precision::kBf16;
  if (bf16 && !CpuSupportsBf16()) {
    return Unimplemented("this processor has no instructions for bf16");
  }
  GYRE_ASSIGN_OR_RETURN(auto pool, cpu::ThreadPool::Create(options.threads));
  if (bf16) return std::unique_ptr<Backend>(new CpuBackend<cpu::Bf16>(std::move(pool), *kernels));
  return std::unique_ptr<Backend>(new CpuBackend<float>(std::move(pool), *kernels));
}

bool CpuSupportsBf16() {
  Allowed::Get();
  return cpu::SupportsBf16();
}

std::string CpuInstructionSet() { return SelectKernels(Allowed::Get().own)->instruction_set; }

std::string CpuLibraries() {
  Allowed::Get();
  return cpu::MatrixProductLibrary();
}

}  // namespace gyre
