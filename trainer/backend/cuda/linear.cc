#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {

template <typename Narrow>
void LinearResidualForward(const Device& device, const LinearResidual& op) {
  MultiplyRows<Narrow, float>(device, op.tokens, op.inputs, op.outputs, Data<Narrow>(op.x),
                              device.Weight<Narrow>(op.weight), Data(op.y), Data(op.residual));
}

template <typename Narrow>
void LinearResidualBackward(const Device& device, const LinearResidual& op,
                            const LinearResidualGradients& g) {
  const NarrowCopy<Narrow> dy(device, Data(g.dy), op.tokens * op.outputs);
  AddWeightGradient<Narrow>(device, op.tokens, op.inputs, op.outputs, dy, op.outputs,
                            Data<Narrow>(op.x), Data(g.d_weight));
  MultiplyBack<Narrow>(device, op.tokens, op.inputs, op.outputs, dy, op.outputs,
                       device.Weight<Narrow>(op.weight), Data<Narrow>(g.dx));
}

template <typename Narrow>
void Linear(const Device& device, int64_t tokens, int inputs, int outputs, Reals x, Reals weight,
            Reals y) {
  const NarrowCopy<Narrow> narrow_x(device, Data(x), tokens * inputs);
  MultiplyRows<Narrow>(device, tokens, inputs, outputs, narrow_x, device.Weight<Narrow>(weight),
                       Data(y));
}

#define GYRE_INSTANTIATE(Narrow)                                                     \
  template void LinearResidualForward<Narrow>(const Device&, const LinearResidual&); \
  template void LinearResidualBackward<Narrow>(const Device&, const LinearResidual&, \
                                               const LinearResidualGradients&);      \
  template void Linear<Narrow>(const Device&, int64_t, int, int, Reals, Reals, Reals);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cuda
