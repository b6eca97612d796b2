#include "trainer/backend/cpu/workspace.h"

#include <algorithm>
#include <string>

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/memory.h"

namespace gyre::cpu {
namespace {

int64_t RoundUp(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

WorkspaceShape Larger(const WorkspaceShape& a, const WorkspaceShape& b) {
  return {.tokens = std::max(a.tokens, b.tokens),
          .length = std::max(a.length, b.length),
          .hidden = std::max(a.hidden, b.hidden),
          .intermediate = std::max(a.intermediate, b.intermediate),
          .vocab = std::max(a.vocab, b.vocab),
          .heads = std::max(a.heads, b.heads),
          .kv_heads = std::max(a.kv_heads, b.kv_heads),
          .head_dim = std::max(a.head_dim, b.head_dim)};
}

// Rows whose distance is a multiple of the page size fall into the same few sets of the cache.
int64_t Unaliased(int64_t count) {
  const int64_t stride = RoundUp(count);
  return stride % 256 == 0 ? stride + kLanes : stride;
}

constexpr int64_t kLogits = int64_t{1} << 20, kFewestLogitRows = 64;

// Enough for every vocabulary up to this one.
int64_t LogitCount(int vocab) {
  const int64_t stride = Workspace::LogitStride(vocab);
  return std::max(kFewestLogitRows * stride,
                  kRowsPerThread * std::min(stride, kLogits / kRowsPerThread + 2 * kLanes));
}

}  // namespace

Workspace::~Workspace() { FreeZeros(memory_); }

int64_t Workspace::LogitRows(int vocab) {
  return std::clamp(kLogits / std::max(vocab, 1), kFewestLogitRows, kRowsPerThread);
}
int64_t Workspace::LogitStride(int vocab) { return Unaliased(vocab); }
int64_t Workspace::ScoreStride(int keys) { return Unaliased(keys); }

bool Workspace::Covers(const WorkspaceShape& shape) const {
  return shape.length <= shape_.length && shape.hidden <= shape_.hidden &&
         shape.vocab <= shape_.vocab && shape.head_dim <= shape_.head_dim;
}

BackendError Workspace::Reserve(const WorkspaceShape& shape) {
  const WorkspaceShape larger = Larger(shape_, shape);
  int64_t size = 0;
  const auto take = [&size](int64_t count) {
    const int64_t at = size;
    size += RoundUp(count);
    return at;
  };
  const int64_t rows = take(threads_ * kRowsPerThread * larger.hidden);
  const int64_t d_rows = take(threads_ * kRowsPerThread * larger.hidden);
  const int64_t logits = take(threads_ * LogitCount(larger.vocab));
  const int64_t sum_stride = RoundUp(larger.hidden + 2 * larger.head_dim);
  const int64_t sums = take(threads_ * sum_stride);
  const int64_t score_size = kQueryBlock * (ScoreStride(larger.length) + kLanes);
  const int64_t scores = take(threads_ * 2 * score_size);
  void* memory = AllocateZeros(size * static_cast<int64_t>(sizeof(float)));
  if (memory == nullptr) {
    return {BackendError::Kind::kOutOfMemory,
            "no memory for " + std::to_string(size * 4 >> 20) + " MiB of workspace"};
  }
  FreeZeros(memory_);
  memory_ = static_cast<float*>(memory);
  shape_ = larger;
  rows_ = rows;
  d_rows_ = d_rows;
  logits_ = logits;
  sums_ = sums;
  sum_stride_ = sum_stride;
  scores_ = scores;
  score_size_ = score_size;
  return {};
}

}  // namespace gyre::cpu
