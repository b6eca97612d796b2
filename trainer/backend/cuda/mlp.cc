#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {
namespace {

int64_t Width(const Mlp& op) { return int64_t{op.gated ? 2 : 1} * op.intermediate; }

NormRows Normed(const Mlp& op) {
  return {Data(op.x), Data(op.norm_weight), op.tokens, op.hidden, op.kind};
}

ActivatedRows Activated(const Mlp& op) {
  return {op.activation, op.gated, op.tokens, op.intermediate};
}

}  // namespace

template <typename Narrow>
void MlpForward(const Device& device, const Mlp& op) {
  Narrow* gate_up = Data<Narrow>(op.gate_up);
  {
    const Temporary<Narrow> normed(device.memory, op.tokens * op.hidden);
    Normalize<Narrow>(device.stream, Normed(op), normed, Data(op.inverse_rms));
    MultiplyRows<Narrow>(device, op.tokens, op.hidden, Width(op), normed,
                         device.Weight<Narrow>(op.weight), gate_up);
  }
  const Temporary<Narrow> activated(device.memory, op.tokens * op.intermediate);
  Activate<Narrow>(device.stream, Activated(op), gate_up, activated);
  MultiplyRows<Narrow>(device, op.tokens, op.intermediate, op.hidden, activated,
                       device.Weight<Narrow>(op.down), Data(op.y), Data(op.x));
}

template <typename Narrow>
void MlpBackward(const Device& device, const Mlp& op, const MlpGradients& g) {
  const int64_t width = Width(op);
  const Temporary<Narrow> d_gate_up(device.memory, op.tokens * width);
  {
    const NarrowCopy<Narrow> dy(device, Data(g.d_residual), op.tokens * op.hidden);
    const Temporary<Narrow> activated(device.memory, op.tokens * op.intermediate);
    MultiplyBack<Narrow, Narrow>(device, op.tokens, op.intermediate, op.hidden, dy, op.hidden,
                                 device.Weight<Narrow>(op.down), activated);  // its gradient yet
    ActivateBackward<Narrow>(device.stream, Activated(op), Data<Narrow>(op.gate_up), activated,
                             d_gate_up, activated);
    AddWeightGradient<Narrow>(device, op.tokens, op.intermediate, op.hidden, dy, op.hidden,
                              activated, Data(g.d_down));
  }
  const Temporary<Narrow> normed(device.memory, op.tokens * op.hidden);
  const Temporary<float> d_normed(device.memory, op.tokens * op.hidden);
  const Temporary<float> sums(device.memory, NormSums(op.tokens, op.hidden));
  const float* inverse_rms = Data(op.inverse_rms);
  NormalizeAgain<Narrow>(device.stream, Normed(op), inverse_rms, normed);
  AddWeightGradient<Narrow>(device, op.tokens, op.hidden, width, d_gate_up, width, normed,
                            Data(g.d_weight));
  MultiplyBack<Narrow, float>(device, op.tokens, op.hidden, width, d_gate_up, width,
                              device.Weight<Narrow>(op.weight), d_normed);
  NormalizeBackward(device.stream, Normed(op), inverse_rms, d_normed, /*add=*/true,
                    Data(g.d_residual), sums, Data(g.d_norm_weight));
}

#define GYRE_INSTANTIATE(Narrow)                               \
  template void MlpForward<Narrow>(const Device&, const Mlp&); \
  template void MlpBackward<Narrow>(const Device&, const Mlp&, const MlpGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cuda
