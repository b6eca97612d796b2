#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

void Device::EmbeddingForward(const Embedding& op) {
  const float scale = static_cast<float>(op.scale);
  Split(op.tokens, [&](int, Range range) {
    for (int64_t n = range.begin; n < range.end; ++n) {
      kernels_.scale(op.hidden, scale, Data(op.table) + int64_t{Data(op.ids)[n]} * op.hidden,
                     Data(op.x) + n * op.hidden);
    }
  });
}

// Threads share the columns, not the tokens: each row of the table gets its sum in the order of the tokens.
void Device::EmbeddingBackward(const Embedding& op, Reals dx, Reals d_table) {
  const float scale = static_cast<float>(op.scale);
  Split(op.hidden, [&](int, Range columns) {
    for (int64_t n = 0; n < op.tokens; ++n) {
      kernels_.add_scaled(columns.size(), scale, Data(dx) + n * op.hidden + columns.begin,
                          Data(d_table) + int64_t{Data(op.ids)[n]} * op.hidden + columns.begin);
    }
  });
}

}  // namespace gyre::cpu
