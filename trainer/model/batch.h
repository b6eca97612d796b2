#pragma once

// What data hands to the model: token ids in rows, and what to predict. Plain memory, no backend.

#include <cstdint>
#include <vector>

namespace gyre {

/// Rows of tokens with their targets, row-major (B, T).
struct Batch {
  int rows = 0;                  // B
  int length = 0;                // T
  std::vector<int32_t> tokens;   // (B, T)
  std::vector<int32_t> targets;  // (B, T); -1 = ignored
  /// (B, T): the place in the row where the token's document begins; attention never looks before
  /// it, and positions count from the row's start all the same. Empty: every row is one document.
  std::vector<int32_t> document_starts;
};

}  // namespace gyre
