#pragma once

#include "trainer/backend/reference/memory.h"

namespace gyre::reference {

template <typename T>
void EmbeddingForward(const Embedding& op) {
  for (int64_t n = 0; n < op.tokens; ++n) {
    const T* row = Data<T>(op.table) + static_cast<int64_t>(Data(op.ids)[n]) * op.hidden;
    for (int c = 0; c < op.hidden; ++c) {
      Data<T>(op.x)[n * op.hidden + c] = static_cast<T>(op.scale * row[c]);
    }
  }
}

template <typename T>
void EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) {
  for (int64_t n = 0; n < op.tokens; ++n) {
    T* row = Data<T>(d_table) + static_cast<int64_t>(Data(op.ids)[n]) * op.hidden;
    for (int c = 0; c < op.hidden; ++c) {
      row[c] += static_cast<T>(op.scale * Data<T>(dx)[n * op.hidden + c]);
    }
  }
}

}  // namespace gyre::reference
