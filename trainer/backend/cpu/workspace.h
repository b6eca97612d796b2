#pragma once

// Scratch memory of the operations, planned once for the largest shapes. Nothing in it outlives an
// operation.

#include <cstdint>
#include <vector>

#include "trainer/backend/backend.h"

namespace gyre::cpu {

/// Operations that need scratch rows work on this many at a time for each thread, so that they stay
/// in its cache.
inline constexpr int64_t kRowsPerThread = 128;
/// Attention looks at this many queries at a time.
inline constexpr int kQueryBlock = 64;

class Workspace {
 public:
  explicit Workspace(int threads) : threads_(threads), totals_(static_cast<size_t>(threads)) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Grows to the largest of all shapes so far.
  BackendError Reserve(const WorkspaceShape& shape);
  /// Whether an operation of this shape was reserved for; 0 for what its scratch memory does not
  /// depend on.
  bool Covers(const WorkspaceShape& shape) const;

  /// Two blocks of (threads kRowsPerThread, hidden), shared by the threads.
  float* rows() const { return memory_ + rows_; }
  float* d_rows() const { return memory_ + d_rows_; }
  /// (threads LogitRows(vocab), LogitStride(vocab)), shared by the threads.
  float* logits() const { return memory_ + logits_; }
  /// (hidden + 2 head_dim) of each thread, on cache lines of its own.
  float* sums(int thread) const { return memory_ + sums_ + thread * sum_stride_; }
  /// One number of each thread; needs no Reserve.
  double& total(int thread) { return totals_[static_cast<size_t>(thread)].value; }
  /// (kQueryBlock, ScoreStride(keys)) of each thread, for any number of keys up to the length.
  float* scores(int thread) const { return memory_ + scores_ + thread * 2 * score_size_; }
  float* d_scores(int thread) const { return scores(thread) + score_size_; }

  /// Rows of logits that a thread works on at a time, and how far apart they lie.
  static int64_t LogitRows(int vocab);
  static int64_t LogitStride(int vocab);
  static int64_t ScoreStride(int keys);

 private:
  struct alignas(64) Total {
    double value = 0;
  };

  const int threads_;
  std::vector<Total> totals_;
  WorkspaceShape shape_;
  float* memory_ = nullptr;
  int64_t rows_ = 0, d_rows_ = 0, logits_ = 0, sums_ = 0, scores_ = 0;
  int64_t sum_stride_ = 0, score_size_ = 0;
};

}  // namespace gyre::cpu
