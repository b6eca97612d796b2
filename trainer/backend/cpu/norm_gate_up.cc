#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {
namespace {

NormRows HiddenRows(const NormGateUp& op, Range rows) {
  return {rows.size(), op.hidden, static_cast<float>(op.kind.epsilon), op.kind.one_plus,
          Data(op.x) + rows.begin * op.hidden, Data(op.norm_weight)};
}

}  // namespace

void Device::NormGateUpForward(const NormGateUp& op) {
  const int inner = op.intermediate;
  Blocks(op.tokens, RowBlock(), [&](Range rows) {
    NormRowsForward(HiddenRows(op, rows), normed_, Data(op.inverse_rms) + rows.begin);
    float* gate_up = Data(op.gate_up) + rows.begin * 2 * inner;
    Forward(rows.size(), op.hidden, 2 * inner, normed_, Data(op.weight), 0, gate_up);
    Split(rows.size(), [&](int, Range part) {
      kernels_.gate_forward(op.activation, part.size(), inner, gate_up + part.begin * 2 * inner,
                            Data(op.activated) + (rows.begin + part.begin) * inner);
    });
  });
}

void Device::NormGateUpBackward(const NormGateUp& op, const NormGateUpGradients& g) {
  const int inner = op.intermediate;
  Blocks(op.tokens, RowBlock(), [&](Range rows) {
    float* gate_up = Data(op.gate_up) + rows.begin * 2 * inner;
    Split(rows.size(), [&](int, Range part) {
      kernels_.gate_backward(op.activation, part.size(), inner,
                             Data(g.d_activated) + (rows.begin + part.begin) * inner,
                             gate_up + part.begin * 2 * inner);
    });
    const NormRows hidden = HiddenRows(op, rows);
    float* inverse_rms = Data(op.inverse_rms) + rows.begin;
    NormRowsForward(hidden, normed_, inverse_rms);  // the same values again
    BackwardWeight(rows.size(), op.hidden, 2 * inner, gate_up, normed_, Data(g.d_weight));
    BackwardInput(rows.size(), op.hidden, 2 * inner, gate_up, Data(op.weight), d_normed_);
    NormRowsBackward(hidden, inverse_rms, d_normed_, /*add=*/true,
                     Data(g.dx) + rows.begin * op.hidden, Data(g.d_norm_weight));
  });
}

}  // namespace gyre::cpu
