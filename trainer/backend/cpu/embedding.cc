#include "trainer/backend/cpu/operations.h"

namespace gyre::cpu {

void EmbeddingForward(Device& device, const Embedding& op) {
  device.pool.Run([&](int thread) {
    const Range tokens = Split({0, op.tokens}, device.threads(), thread);
    for (int64_t n = tokens.begin; n < tokens.end; ++n) {
      device.kernels.assign_scaled(Data(op.table) + int64_t{Data(op.ids)[n]} * op.hidden,
                                   static_cast<float>(op.scale), op.hidden,
                                   Data(op.x) + n * op.hidden);
    }
  });
}

// A token may occur many times: each thread adds all rows, of its own columns.
void EmbeddingBackward(Device& device, const Embedding& op, Reals dx, Reals d_table) {
  device.pool.Run([&](int thread) {
    const Range columns = Split({0, op.hidden}, device.threads(), thread, kLanes);
    if (columns.size() == 0) return;
    for (int64_t n = 0; n < op.tokens; ++n) {
      device.kernels.add_scaled(
          Data(dx) + n * op.hidden + columns.begin, static_cast<float>(op.scale), columns.size(),
          Data(d_table) + int64_t{Data(op.ids)[n]} * op.hidden + columns.begin);
    }
  });
}

}  // namespace gyre::cpu
