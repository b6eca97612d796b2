#pragma once

// Attention's tiles: a block of queries of one row, and the keys that any of them sees.

#include "trainer/backend/backend.h"
#include "trainer/backend/cpu/kernels.h"

namespace gyre::cpu {

inline constexpr int kQueryBlock = 64;

/// Columns that a tile of scores has for this many keys: whole vectors.
inline int64_t PaddedKeys(int keys) { return (int64_t{keys} + 15) / 16 * 16; }

struct QueryBlock {
  /// `document_starts` (T) of the row, or nullptr.
  QueryBlock(const Attention& op, const int32_t* document_starts, int first_query);

  int first_query, queries;
  int first_key, keys;               // the union of what the queries see; tiles without any are never computed
  VisibleKeys visible[kQueryBlock];  // columns of the tile
};

}  // namespace gyre::cpu
