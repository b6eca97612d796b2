#pragma once

// How much memory the operations take for themselves while they run, from the shapes alone: what
// Reserve asks the device for, and what a job's memory is estimated by. Standard C++ only.

#include <algorithm>
#include <cstdint>

#include "trainer/backend/backend.h"

namespace gyre::cuda {

/// Of the library of matrix products.
constexpr int64_t kProductBytes = int64_t{32} << 20;

/// Queries that attention's statistics take at a time; each head has sums of each such strip of a
/// row.
constexpr int kStatisticsStrip = 32;

/// Of the operation that takes most, `narrow` bytes a number that products take. `logits`: rows
/// times vocabulary that cross-entropy holds. Partial sums of norms and attention, a few bytes a
/// token, count as one more row of the residual stream.
inline int64_t ScratchBytes(const WorkspaceShape& s, int64_t narrow, int64_t logits) {
  constexpr int64_t kFloat = sizeof(float);
  const int64_t copy = narrow == kFloat ? 0 : narrow;
  const int64_t sums = s.tokens * std::max(s.hidden, 2 * s.heads) * kFloat;
  const int64_t norm = s.tokens * s.hidden * (narrow + kFloat) + sums;
  const int64_t mlp = s.tokens * s.intermediate * 2 * narrow +
                      std::max(norm, s.tokens * (s.hidden * copy + s.intermediate * narrow));
  const int64_t held =
      std::min(s.tokens * (int64_t{s.vocab} + 15), std::max(logits, int64_t{128} * (s.vocab + 15)));
  const int64_t loss = s.tokens * s.hidden * copy + held * (kFloat + copy);
  const int64_t strips = (s.length + kStatisticsStrip - 1) / kStatisticsStrip;
  const int64_t statistics = s.tokens / std::max(s.length, 1) * strips * s.heads *
                             (s.head_dim + HeadScore::kCount) * kFloat;
  return std::max({norm, mlp, loss, statistics});
}

}  // namespace gyre::cuda
