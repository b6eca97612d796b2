#include "trainer/backend/cpu/linear.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

int64_t Width(const Mlp& op) { return int64_t{op.gated ? 2 : 1} * op.intermediate; }

NormRows Normed(const Mlp& op, Range rows) {
  return {Data(op.x) + rows.begin * op.hidden, Data(op.norm_weight), rows.size(), op.hidden,
          op.kind};
}

ActivatedRows Activated(const Mlp& op, Range rows) {
  constexpr int64_t kNear = int64_t{1} << 20;  // numbers that some cache keeps
  const bool far = op.tokens * Width(op) > kNear;
  return {op.activation, op.gated, rows.size(), op.intermediate, far};
}

// Whether a product and what is activated of it are one, on tiles, for so many rows.
template <typename Narrow>
bool ActivatesOnTiles(const NarrowDevice<Narrow>& device, const Mlp& op, int64_t rows) {
  return std::is_same_v<Narrow, Bf16> && device.kernels.tiles.available &&
         op.hidden % kTileStrip == 0 && op.intermediate % kTileStrip == 0 && rows % kTileStrip == 0;
}

}  // namespace

template <typename Narrow>
void MlpForward(NarrowDevice<Narrow>& device, const Mlp& op) {
  const MlpScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const int64_t width = Width(op);
  const auto weight = ForwardForm(Data(op.weight), width, op.hidden, scratch.weight);
  const auto down = ForwardForm(Data(op.down), op.hidden, op.intermediate, scratch.down);
  device.pool.Run([&](int thread) {
    device.Pack(weight, thread);
    device.Pack(down, thread);
  });
  ForRows(device, op.tokens, [&](Range rows, int thread) {
    Narrow* normed = scratch.normed + thread * kRowsPerThread<Narrow> * op.hidden;
    Narrow* gate_up = scratch.gate_up.Of(thread);
    Narrow* activated = scratch.activated + thread * kRowsPerThread<Narrow> * op.intermediate;
    device.narrow.normalize(Normed(op, rows), normed, Data(op.inverse_rms) + rows.begin);
    Narrow* kept = Data<Narrow>(op.gate_up) + rows.begin * width;
    const int64_t at = rows.begin * op.hidden;
    if constexpr (std::is_same_v<Narrow, Bf16>) {
      if (ActivatesOnTiles(device, op, rows.size())) {
        device.kernels.tiles.activate({.activated = Activated(op, rows),
                                       .k = op.hidden,
                                       .a = normed,
                                       .b = weight.packed,
                                       .kept = kept,
                                       .activations = activated});
        MultiplyPackedRows(device, rows.size(), activated, down, Data(op.y) + at, Data(op.x) + at);
        return;
      }
    }
    MultiplyRows(device, rows.size(), normed, weight, gate_up);
    device.narrow.activate(Activated(op, rows), gate_up, kept, activated);
    MultiplyRows(device, rows.size(), activated, down, Data(op.y) + at, Data(op.x) + at);
  });
}

template <typename Narrow>
void MlpBackward(NarrowDevice<Narrow>& device, const Mlp& op, const MlpGradients& g) {
  const MlpScratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const int64_t width = Width(op);
  const auto weight = BackwardForm(Data(op.weight), width, op.hidden, scratch.weight);
  const auto down = BackwardForm(Data(op.down), op.hidden, op.intermediate, scratch.down);
  device.pool.Run([&](int thread) {
    device.Pack(weight, thread);
    device.Pack(down, thread);
  });
  ZeroSums(device, scratch.sums, op.hidden);
  const WeightGradient<Narrow> d_down(device, op.hidden, op.hidden, op.intermediate,
                                      scratch.dy_transposed, scratch.activated);
  const WeightGradient<Narrow> d_weight(device, width, width, op.hidden,
                                        scratch.d_gate_up_transposed, scratch.normed);
  ForBlocks(
      device, op.tokens, kBlockRows<Narrow>, kRowsPerThread<Narrow>,
      [&](const BlockRows& mine, int thread) {
        const Range rows = mine.rows;
        Narrow* normed = d_weight.PlaceOfX(mine, scratch.dy.Of(thread));
        Narrow* activated = d_down.PlaceOfX(mine, scratch.own_activated.Of(thread));
        Narrow* d_gate_up = scratch.gate_up.Of(thread);
        float* d_normed = scratch.d_normed.Of(thread);
        float* d_residual = Data(g.d_residual) + rows.begin * op.hidden;
        const float* inverse_rms = Data(op.inverse_rms) + rows.begin;
        const Narrow* dy =
            device.Narrowed(d_residual, rows.size() * op.hidden, scratch.dy.Of(thread));
        const Narrow* kept = Data<Narrow>(op.gate_up) + rows.begin * width;
        d_down.LeaveDy(mine, dy);
        if constexpr (std::is_same_v<Narrow, Bf16>) {
          if (ActivatesOnTiles(device, op, mine.block_size)) {
            device.kernels.tiles.activate_backward({.activated = Activated(op, rows),
                                                    .k = op.hidden,
                                                    .a = dy,
                                                    .b = down.packed,
                                                    .kept = kept,
                                                    .d_gate_up = d_gate_up,
                                                    .at = mine.at,
                                                    .depth = mine.block_size,
                                                    .d_transposed = scratch.d_gate_up_transposed,
                                                    .activations = scratch.activated});
            MultiplyPackedRows(device, rows.size(), d_gate_up, weight, d_normed);
          }
        }
        if (!ActivatesOnTiles(device, op, mine.block_size)) {
          MultiplyRows(device, rows.size(), dy, down, activated);  // its gradient, for now
          device.narrow.activate_backward(Activated(op, rows), kept, activated, d_gate_up,
                                          activated);
          d_down.LeaveX(mine, activated);
          d_weight.LeaveDy(mine, d_gate_up);
          MultiplyRows(device, rows.size(), d_gate_up, weight, d_normed);
        }
        device.narrow.normalize_backward_add(Normed(op, rows), inverse_rms, d_normed, d_residual,
                                             scratch.sums.Of(thread), normed);
        d_weight.LeaveX(mine, normed);
      },
      [&](Range block, int thread) {
        d_down.Add(block.size(), thread, Data(g.d_down));
        d_weight.Add(block.size(), thread, Data(g.d_weight));
      });
  AddSums(device, scratch.sums, 0, op.hidden, Data(g.d_norm_weight));
}

#define GYRE_INSTANTIATE(Narrow)                               \
  template void MlpForward(NarrowDevice<Narrow>&, const Mlp&); \
  template void MlpBackward(NarrowDevice<Narrow>&, const Mlp&, const MlpGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cpu
