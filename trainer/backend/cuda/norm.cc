#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {
namespace {

NormRows RowsOf(const Norm& op) {
  return {Data(op.x), Data(op.weight), op.tokens, op.hidden, op.kind};
}

}  // namespace

void NormForward(const Device& device, const Norm& op) {
  Normalize(device.stream, RowsOf(op), Data(op.y), Data(op.inverse_rms));
}

void NormBackward(const Device& device, const Norm& op, Reals dy, Reals dx, Reals d_weight) {
  const Temporary<float> sums(device.memory, NormSums(op.tokens, op.hidden));
  NormalizeBackward(device.stream, RowsOf(op), Data(op.inverse_rms), Data(dy), /*add=*/false,
                    Data(dx), sums, Data(d_weight));
}

}  // namespace gyre::cuda
