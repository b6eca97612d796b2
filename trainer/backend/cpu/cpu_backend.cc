#include "trainer/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>

#include "trainer/backend/cpu/device.h"
#include "trainer/backend/cpu/memory.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/processor.h"

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

/// The fastest, or nullptr if `instruction_set` is not empty and not supported here.
const cpu::Kernels* SelectKernels(const std::string& instruction_set) {
  for (const cpu::Kernels* kernels : cpu::SupportedKernels()) {
    if (instruction_set.empty() || instruction_set == kernels->instruction_set) return kernels;
  }
  return nullptr;
}

class CpuBackend : public Backend {
 public:
  CpuBackend(std::unique_ptr<cpu::ThreadPool> pool, const cpu::Kernels& kernels)
      : pool_(std::move(pool)), workspace_(pool_->size()), device_{*pool_, kernels, workspace_} {}

  BackendError Allocate(int64_t count, Reals* place) override {
    return AllocatePlace<float>(count, place);
  }
  BackendError Allocate(int64_t count, Ints* place) override {
    return AllocatePlace<int32_t>(count, place);
  }
  void Free(Reals place) override { cpu::FreeZeros(place.memory); }
  void Free(Ints place) override { cpu::FreeZeros(place.memory); }
  BackendError Reserve(const WorkspaceShape& shape) override { return workspace_.Reserve(shape); }

  void Write(Reals to, std::span<const double> values) override {
    std::transform(values.begin(), values.end(), cpu::Data(to),
                   [](double value) { return static_cast<float>(value); });
  }
  void Write(Ints to, std::span<const int32_t> values) override {
    std::copy(values.begin(), values.end(), cpu::Data(to));
  }
  BackendError Read(Reals from, std::span<double> values) override {
    if (device_.product_failed) {
      return {BackendError::Kind::kOutOfMemory, "a matrix product found no memory"};
    }
    if (!error_.ok()) return error_;
    std::copy_n(cpu::Data(from), values.size(), values.begin());
    return {};
  }
  void Zero(Reals place, int64_t count) override {
    std::memset(cpu::Data(place), 0, static_cast<size_t>(count) * sizeof(float));
  }

  void EmbeddingForward(const Embedding& op) override { cpu::EmbeddingForward(device_, op); }
  void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) override {
    cpu::EmbeddingBackward(device_, op, dx, d_table);
  }
  void NormForward(const Norm& op) override { cpu::NormForward(device_, op); }
  void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) override {
    if (Reserved({.hidden = op.hidden})) cpu::NormBackward(device_, op, dy, dx, d_weight);
  }
  void NormQkvForward(const NormQkv& op) override {
    if (Reserved({.hidden = op.hidden})) cpu::NormQkvForward(device_, op);
  }
  void NormQkvBackward(const NormQkv& op, const NormQkvGradients& gradients) override {
    if (Reserved({.hidden = op.hidden, .head_dim = op.head_dim})) {
      cpu::NormQkvBackward(device_, op, gradients);
    }
  }
  void AttentionForward(const Attention& op) override {
    if (Reserved({.length = op.length})) cpu::AttentionForward(device_, op);
  }
  void AttentionBackward(const Attention& op, const AttentionGradients& gradients) override {
    if (Reserved({.length = op.length})) cpu::AttentionBackward(device_, op, gradients);
  }
  void LinearResidualForward(const LinearResidual& op) override {
    cpu::LinearResidualForward(device_, op);
  }
  void LinearResidualBackward(const LinearResidual& op,
                              const LinearResidualGradients& gradients) override {
    cpu::LinearResidualBackward(device_, op, gradients);
  }
  void NormGateUpForward(const NormGateUp& op) override {
    if (Reserved({.hidden = op.hidden})) cpu::NormGateUpForward(device_, op);
  }
  void NormGateUpBackward(const NormGateUp& op, const NormGateUpGradients& gradients) override {
    if (Reserved({.hidden = op.hidden})) cpu::NormGateUpBackward(device_, op, gradients);
  }
  void LinearCrossEntropyForward(const LinearCrossEntropy& op) override {
    if (Reserved({.vocab = op.vocab})) cpu::LinearCrossEntropyRows(device_, op, nullptr);
  }
  void LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                         const LinearCrossEntropyGradients& gradients) override {
    if (Reserved({.vocab = op.vocab})) cpu::LinearCrossEntropyRows(device_, op, &gradients);
  }
  void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) override {
    cpu::Linear(device_, tokens, inputs, outputs, x, weight, y);
  }
  void Norm2(Reals x, int64_t count, Reals norm) override { cpu::Norm2(device_, x, count, norm); }
  void AdamWStep(const AdamW& op) override { cpu::AdamWStep(device_, op); }

 private:
  bool Reserved(const WorkspaceShape& shape) {
    if (!workspace_.Covers(shape) && error_.ok()) {
      error_ = {BackendError::Kind::kDevice, "an operation is larger than the workspace reserved"};
    }
    return error_.ok();
  }

  std::unique_ptr<cpu::ThreadPool> pool_;
  cpu::Workspace workspace_;
  cpu::Device device_;
  BackendError error_;
};

}  // namespace

Result<std::unique_ptr<Backend>> CreateCpuBackend(int threads, const std::string& instruction_set) {
  if (threads < 1) return InvalidArgument("a backend needs at least one thread");
  const cpu::Kernels* kernels = SelectKernels(instruction_set);
  if (kernels == nullptr) {
    return InvalidArgument("this processor has no instruction set '" + instruction_set + "'");
  }
  GYRE_ASSIGN_OR_RETURN(std::unique_ptr<cpu::ThreadPool> pool, cpu::ThreadPool::Create(threads));
  return std::unique_ptr<Backend>(new CpuBackend(std::move(pool), *kernels));
}

std::string CpuInstructionSet() { return SelectKernels("")->instruction_set; }

std::string CpuLibraries() { return cpu::MatrixProductLibrary(); }

}  // namespace gyre
