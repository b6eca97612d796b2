#pragma once

// The CPU backend's class; each operation is in the file of its stem.

#include <atomic>
#include <cstdint>
#include <utility>

#include "trainer/backend/backend.h"
#include "trainer/backend/cpu/kernels.h"
#include "trainer/backend/cpu/products.h"

namespace gyre::cpu {

inline float* Data(Reals place) { return static_cast<float*>(place.memory) + place.offset; }
inline int32_t* Data(Ints place) { return static_cast<int32_t*>(place.memory) + place.offset; }

/// Rows [begin, end) of something.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

class Device final : public Backend {
 public:
  Device(int threads, const Kernels& kernels) : threads_(threads), kernels_(kernels) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() override;

  BackendError Allocate(int64_t count, Reals* place) override;
  BackendError Allocate(int64_t count, Ints* place) override;
  void Free(Reals place) override;
  void Free(Ints place) override;
  BackendError Reserve(const WorkspaceShape& shape) override;
  void Write(Reals to, std::span<const double> values) override;
  void Write(Ints to, std::span<const int32_t> values) override;
  BackendError Read(Reals from, std::span<double> values) override;
  void Zero(Reals place, int64_t count) override;

  void EmbeddingForward(const Embedding& op) override;
  void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) override;
  void NormForward(const Norm& op) override;
  void NormBackward(const Norm& op, Reals dy, Reals dx, Reals d_weight) override;
  void NormQkvForward(const NormQkv& op) override;
  void NormQkvBackward(const NormQkv& op, const NormQkvGradients& gradients) override;
  void AttentionForward(const Attention& op) override;
  void AttentionBackward(const Attention& op, const AttentionGradients& gradients) override;
  void LinearResidualForward(const LinearResidual& op) override;
  void LinearResidualBackward(const LinearResidual& op,
                              const LinearResidualGradients& gradients) override;
  void NormGateUpForward(const NormGateUp& op) override;
  void NormGateUpBackward(const NormGateUp& op, const NormGateUpGradients& gradients) override;
  void LinearCrossEntropyForward(const LinearCrossEntropy& op) override;
  void LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                         const LinearCrossEntropyGradients& gradients) override;
  void Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) override;
  void Norm2(Reals x, int64_t count, Reals norm) override;
  void AdamWStep(const AdamW& op) override;

 private:
  /// Calls body(part, range) for `threads_` ranges that cover [0, count) in order, each on a thread.
  template <typename Body>
  void Split(int64_t count, const Body& body) const {
#pragma omp parallel for schedule(static, 1) num_threads(threads_) if (threads_ > 1)
    for (int part = 0; part < threads_; ++part) {
      const Range range{count * part / threads_, count * (part + 1) / threads_};
      if (range.size() > 0) body(part, range);
    }
  }
  /// Calls body(range) for [0, count) in blocks of rows, one after another: what a block touches stays in the cache.
  template <typename Body>
  void Blocks(int64_t count, int64_t block, const Body& body) const {
    for (int64_t begin = 0; begin < count; begin += block) {
      body(Range{begin, begin + block < count ? begin + block : count});
    }
  }
  int64_t RowBlock() const;              // rows at a time around a product
  int64_t LogitBlock(int vocab) const;   // rows of logits held at a time

  // c = alpha a b + beta c. Also within a Split.
  void Product(int64_t m, int64_t n, int64_t k, float alpha, Operand a, Operand b, float beta,
               float* c, int64_t c_stride);
  // y (rows, outputs) = x (rows, inputs) weight^T + beta y.
  void Forward(int64_t rows, int inputs, int outputs, const float* x, const float* weight, float beta,
               float* y);
  // dx (rows, inputs) = dy weight;  d_weight += dy^T x.
  void BackwardInput(int64_t rows, int inputs, int outputs, const float* dy, const float* weight,
                     float* dx);
  void BackwardWeight(int64_t rows, int inputs, int outputs, const float* dy, const float* x,
                      float* d_weight);

  void NormRowsForward(const NormRows& rows, float* y, float* inverse_rms) const;
  void NormRowsBackward(const NormRows& rows, const float* inverse_rms, const float* dy, bool add,
                        float* dx, float* d_weight);
  void FinishQk(const NormQkv& op, Range rows) const;
  void UndoQk(const NormQkv& op, const NormQkvGradients& gradients, Range rows);
  void LossRows(const LinearCrossEntropy& op, const LinearCrossEntropyGradients* gradients);
  // Adds the threads' partial sums (n each, `stride` apart) to sum (n), in the order of the threads.
  void AddPartials(int n, int64_t stride, const float* partials, float* sum) const;

  void AttentionForwardHead(const Attention& op, int row, int head, float* scores);
  void AttentionBackwardGroup(const Attention& op, const AttentionGradients& gradients, int row,
                              int kv_head, float* scores);
  int64_t ScoreStride() const;  // elements of one tile of scores

  const int threads_;
  const Kernels& kernels_;
  std::atomic<bool> product_failed_{false};
  // Private workspace, planned by Reserve.
  WorkspaceShape reserved_;
  Reals workspace_;
  float* normed_ = nullptr;     // (RowBlock, C)
  float* d_normed_ = nullptr;   // (RowBlock, C)
  float* partials_ = nullptr;   // (threads, max(C, 2 d))
  float* logits_ = nullptr;     // (LogitBlock, V)
  float* scores_ = nullptr;     // (threads, 2, ScoreStride)
};

}  // namespace gyre::cpu
