#include "trainer/backend/cpu/norm_linear.h"
#include "trainer/backend/cpu/operations.h"

namespace gyre::cpu {
namespace {

NormLinear LinearPart(const NormGateUp& op) {
  return {.tokens = op.tokens,
          .hidden = op.hidden,
          .outputs = 2 * op.intermediate,
          .kind = op.kind,
          .x = Data(op.x),
          .norm_weight = Data(op.norm_weight),
          .weight = Data(op.weight),
          .inverse_rms = Data(op.inverse_rms),
          .y = Data(op.gate_up)};
}

GatedRows Gated(const NormGateUp& op, Range rows) {
  return {op.activation, rows.size(), op.intermediate,
          Data(op.gate_up) + rows.begin * 2 * op.intermediate};
}

}  // namespace

void NormGateUpForward(Device& device, const NormGateUp& op) {
  NormLinearForward(device, LinearPart(op), [&](Range rows) {
    device.kernels.activate(Gated(op, rows), Data(op.activated) + rows.begin * op.intermediate);
  });
}

void NormGateUpBackward(Device& device, const NormGateUp& op, const NormGateUpGradients& g) {
  NormLinearBackward(device, LinearPart(op), Data(op.gate_up), Data(g.dx), Data(g.d_norm_weight),
                     Data(g.d_weight), [&](Range rows, int) {
                       device.kernels.activate_backward(
                           Gated(op, rows), Data(g.d_activated) + rows.begin * op.intermediate);
                     });
}

}  // namespace gyre::cpu
