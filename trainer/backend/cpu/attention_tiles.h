#pragma once

// Attention of one head by products on tiles: as attention.cc has it, but operands that come second
// are packed once a head, and whatever can be read or written where it is, is.

#include "trainer/backend/cpu/attention_row.h"
#include "trainer/backend/cpu/device.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {

class TiledHead {
 public:
  static bool Fits(const NarrowDevice<Bf16>& device, const Attention& op);

  TiledHead(NarrowDevice<Bf16>& device, const Attention& op, const AttentionScratch<Bf16>& scratch,
            int row, int head, int thread);
  void Forward() const;
  /// Adds to the scratch memory's d_keys, d_values.
  void Backward(const AttentionGradients& g) const;

 private:
  // A product with whole strips of columns; c assigned.
  template <typename Out>
  TileProduct<Out> Product(int64_t m, int64_t n, int64_t k, const Bf16* a, int64_t a_stride,
                           const Bf16* b, int64_t b_depth, Out* c, int64_t c_stride) const;
  void PackRows(const Bf16* rows, int64_t stride, Bf16* packed) const;
  void PackColumns(const Bf16* rows, int64_t stride, Bf16* packed) const;
  /// scores (queries, keys) = queries b, b being packed keys or values, in columns.
  void MultiplyByColumns(const Block<Bf16>& block, const Bf16* queries, int64_t stride,
                         const Bf16* b, float* scores) const;
  /// to (queries, d) = factors (queries, keys) b, b being packed keys or values, in rows.
  void MultiplyByRows(const Block<Bf16>& block, const Bf16* factors, const Bf16* b, Bf16* to,
                      int64_t stride) const;
  /// sums (T, d) += factors^T b at the block's keys, b being packed queries; via `transposed`.
  void AddToKeys(const Block<Bf16>& block, const Bf16* factors, Bf16* transposed, const Bf16* b,
                 float* sums) const;

  NarrowDevice<Bf16>& device_;
  const Attention& op_;
  const AttentionScratch<Bf16>& scratch_;
  const Row row_;
  const int head_, key_head_, thread_;
};

}  // namespace gyre::cpu
