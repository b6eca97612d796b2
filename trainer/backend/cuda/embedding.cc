#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {

void EmbeddingForward(const Device& device, const Embedding& op) {
  TakeRows(device.stream, op.tokens, op.hidden, static_cast<float>(op.scale), Data(op.ids),
           Data(op.table), Data(op.x));
}

void EmbeddingBackward(const Device& device, const Embedding& op, Reals dx, Reals d_table) {
  const Temporary<int64_t> order(device.memory, AddRowsScratch(op.tokens));
  AddRows(device.stream, op.tokens, op.hidden, static_cast<float>(op.scale), Data(op.ids), Data(dx),
          order, Data(d_table));
}

}  // namespace gyre::cuda
