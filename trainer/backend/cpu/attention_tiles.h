#pragma once

// Attention of one head by products on tiles: as attention.cc has it, but operands that come second
// are packed once a head, and whatever can be read or written where it is, is. Queries go by in
// strips, whose scores stay in the first cache; what keys and values get from them is multiplied
// for as many queries at a time as the second cache holds.

#include <initializer_list>

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
  /// Whether Backward stores the gradients of keys and values, else it adds them to the scratch
  /// memory's d_keys, d_values.
  static bool StoresKeys(const Attention& op);
  void Backward(const AttentionGradients& g) const;

 private:
  // Queries whose probabilities are kept, and, for each strip of them, the first key it sees.
  struct Group {
    int first = 0, count = 0;
    int key[kMostInGroup / kTileStrip] = {};
  };
  // Assigns gradients of a group's queries, p_transposed and d_transposed: (keys, count), packed.
  Group StripsBackward(const AttentionGradients& g, int first, int count) const;
  QueryStrip Strip(const Block<Bf16>& block) const;
  // Has a strip fetch what the next head will need of these at `place`.
  enum Kind { kQuery, kKey, kValue, kOutput };
  struct NextPart {
    const Bf16* matrix;
    Kind kind;
  };
  void Next(int place, std::initializer_list<NextPart> parts, QueryStrip* strip) const;
  /// to (T, d) = transposed b at the group's keys, b being packed rows of all queries; floats are
  /// added to.
  template <typename Out>
  void ForKeys(const Group& group, const Bf16* transposed, const Bf16* b, Out* to,
               int64_t stride) const;
  void PackRows(const Bf16* rows, int64_t stride, Bf16* packed) const;
  void PackColumns(const Bf16* rows, int64_t stride, Bf16* packed) const;

  NarrowDevice<Bf16>& device_;
  const Attention& op_;
  const AttentionScratch<Bf16>& scratch_;
  const Row row_;
  const int row_index_, head_, key_head_, thread_;
};

}  // namespace gyre::cpu
