#include "trainer/backend/cpu/device.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "trainer/backend/cpu/cpu_backend.h"
#include "trainer/backend/cpu/query_block.h"

namespace gyre {
namespace cpu {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector

BackendError AllocateZeros(int64_t count, size_t element_bytes, void** memory) {
  const size_t bytes = (static_cast<size_t>(std::max<int64_t>(count, 1)) * element_bytes +
                        kAlignment - 1) / kAlignment * kAlignment;
  // The kernel promises more memory than there is and kills later; what can never fit is refused here.
  const size_t machine_bytes = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                               static_cast<size_t>(sysconf(_SC_PAGE_SIZE));
  *memory = bytes <= machine_bytes ? std::aligned_alloc(kAlignment, bytes) : nullptr;
  if (*memory == nullptr) {
    return {BackendError::Kind::kOutOfMemory,
            "the model needs " + std::to_string(bytes >> 20) +
                " MiB in one piece, and this machine cannot give them"};
  }
  std::memset(*memory, 0, bytes);
  return {};
}

}  // namespace

Device::~Device() { Free(workspace_); }

BackendError Device::Allocate(int64_t count, Reals* place) {
  *place = {};
  return AllocateZeros(count, sizeof(float), &place->memory);
}

BackendError Device::Allocate(int64_t count, Ints* place) {
  *place = {};
  return AllocateZeros(count, sizeof(int32_t), &place->memory);
}

void Device::Free(Reals place) { std::free(place.memory); }
void Device::Free(Ints place) { std::free(place.memory); }

int64_t Device::RowBlock() const { return int64_t{256} * threads_; }

int64_t Device::LogitBlock(int vocab) const {
  return std::clamp<int64_t>((1 << 21) / vocab, 128, 256) * threads_;
}

int64_t Device::ScoreStride() const {
  return int64_t{kQueryBlock} * PaddedKeys(reserved_.length);
}

BackendError Device::Reserve(const WorkspaceShape& shape) {
  WorkspaceShape& most = reserved_;
  most.tokens = std::max(most.tokens, shape.tokens);
  most.length = std::max(most.length, shape.length);
  most.hidden = std::max(most.hidden, shape.hidden);
  most.vocab = std::max(most.vocab, shape.vocab);
  most.head_dim = std::max(most.head_dim, shape.head_dim);
  const int64_t normed = RowBlock() * most.hidden;
  const int64_t partials = int64_t{threads_} * std::max(most.hidden, 2 * most.head_dim);
  const int64_t logits = std::min(LogitBlock(std::max(most.vocab, 1)), most.tokens) * most.vocab;
  const int64_t scores = int64_t{threads_} * 2 * ScoreStride();
  Free(workspace_);
  const BackendError error = Allocate(2 * normed + partials + logits + scores, &workspace_);
  if (!error.ok()) return error;
  normed_ = Data(workspace_);
  d_normed_ = normed_ + normed;
  scores_ = d_normed_ + normed;
  logits_ = scores_ + scores;
  partials_ = logits_ + logits;
  return {};
}

void Device::Write(Reals to, std::span<const double> values) {
  std::copy(values.begin(), values.end(), Data(to));
}

void Device::Write(Ints to, std::span<const int32_t> values) {
  std::copy(values.begin(), values.end(), Data(to));
}

BackendError Device::Read(Reals from, std::span<double> values) {
  std::copy_n(Data(from), values.size(), values.begin());
  if (!product_failed_.exchange(false)) return {};
  return {BackendError::Kind::kDevice, ProductLibrary() + " refused a matrix product"};
}

void Device::Zero(Reals place, int64_t count) {
  Split(count, [&](int, Range range) {
    std::memset(Data(place) + range.begin, 0,
                static_cast<size_t>(range.size()) * sizeof(float));
  });
}

void Device::Product(int64_t m, int64_t n, int64_t k, float alpha, Operand a, Operand b, float beta,
                     float* c, int64_t c_stride) {
  // The library's threads are OpenMP's, whose number belongs to the calling thread.
  omp_set_num_threads(threads_);
  if (!Multiply(kernels_, m, n, k, alpha, a, b, beta, c, c_stride)) product_failed_ = true;
}

}  // namespace cpu

std::unique_ptr<Backend> CreateCpuBackend(int threads, const std::string& instruction_set) {
  const cpu::Kernels* kernels = instruction_set.empty() ? &cpu::BestKernels()
                                                        : cpu::FindKernels(instruction_set.c_str());
  if (kernels == nullptr) return nullptr;
  return std::make_unique<cpu::Device>(threads, *kernels);
}

std::string CpuInstructionSet() { return cpu::BestKernels().instruction_set; }

std::string CpuLibraries() { return cpu::ProductLibrary(); }

}  // namespace gyre
