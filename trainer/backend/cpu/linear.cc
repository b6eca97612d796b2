#include "trainer/backend/cpu/linear.h"

#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {

// For looking at single logits; never in a training step.
template <typename Narrow>
void Linear(NarrowDevice<Narrow>& device, int64_t tokens, int inputs, int outputs, Reals x,
            Reals weight, Reals y) {
  const LinearScratch<Narrow> scratch(device.workspace.Carve(), outputs, inputs, device.threads());
  const auto form = ForwardForm(Data(weight), outputs, inputs, scratch.weight);
  device.pool.Run([&](int thread) { device.Pack(form, thread); });
  for (int64_t n = 0; n < tokens; ++n) {
    const Narrow* row = device.Narrowed(Data(x) + n * inputs, inputs, scratch.dy.first);
    MultiplyRows(device, 1, row, form, Data(y) + n * outputs);
  }
}

template <typename Narrow>
void LinearResidualForward(NarrowDevice<Narrow>& device, const LinearResidual& op) {
  const LinearScratch<Narrow> scratch(device.workspace.Carve(), op.inputs, op.outputs,
                                      device.threads());
  const auto form = ForwardForm(Data(op.weight), op.outputs, op.inputs, scratch.weight);
  device.pool.Run([&](int thread) { device.Pack(form, thread); });
  ForRows(device, op.tokens, [&](Range rows, int) {
    const int64_t at = rows.begin * op.outputs;
    MultiplyRows(device, rows.size(), Data<Narrow>(op.x) + rows.begin * op.inputs, form,
                 Data(op.y) + at, Data(op.residual) + at);
  });
}

template <typename Narrow>
void LinearResidualBackward(NarrowDevice<Narrow>& device, const LinearResidual& op,
                            const LinearResidualGradients& g) {
  const LinearScratch<Narrow> scratch(device.workspace.Carve(), op.inputs, op.outputs,
                                      device.threads());
  const auto form = BackwardForm(Data(op.weight), op.outputs, op.inputs, scratch.weight);
  device.pool.Run([&](int thread) { device.Pack(form, thread); });
  const WeightGradient<Narrow> d_weight(device, op.outputs, op.outputs, op.inputs,
                                        scratch.dy_transposed, scratch.x);
  ForBlocks(
      device, op.tokens, kBlockRows<Narrow>, kRowsPerThread<Narrow>,
      [&](const BlockRows& mine, int thread) {
        const Range rows = mine.rows;
        const Narrow* dy = device.Narrowed(Data(g.dy) + rows.begin * op.outputs,
                                           rows.size() * op.outputs, scratch.dy.Of(thread));
        d_weight.LeaveDy(mine, dy);
        d_weight.LeaveX(mine, Data<Narrow>(op.x) + rows.begin * op.inputs);
        MultiplyRows(device, rows.size(), dy, form, Data<Narrow>(g.dx) + rows.begin * op.inputs);
      },
      [&](Range block, int thread) {
        d_weight.Add(block.size(), thread, Data(g.d_weight),
                     Data<Narrow>(op.x) + block.begin * op.inputs);
      });
}

#define GYRE_INSTANTIATE(Narrow)                                                       \
  template void Linear(NarrowDevice<Narrow>&, int64_t, int, int, Reals, Reals, Reals); \
  template void LinearResidualForward(NarrowDevice<Narrow>&, const LinearResidual&);   \
  template void LinearResidualBackward(NarrowDevice<Narrow>&, const LinearResidual&,   \
                                       const LinearResidualGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cpu
