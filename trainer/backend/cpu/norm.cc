#include "trainer/backend/cpu/linear.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

NormRows Rows(const Norm& op, Range rows) {
  return {Data(op.x) + rows.begin * op.hidden, Data(op.weight), rows.size(), op.hidden, op.kind};
}

}  // namespace

void NormForward(Device& device, const Norm& op) {
  device.pool.Run([&](int thread) {
    const Range rows = Split({0, op.tokens}, device.threads(), thread);
    device.kernels.to_float.normalize(Rows(op, rows), Data(op.y) + rows.begin * op.hidden,
                                      Data(op.inverse_rms) + rows.begin);
  });
}

void NormBackward(Device& device, const Norm& op, Reals dy, Reals dx, Reals d_weight) {
  const NormScratch scratch(device.workspace.Carve(), op.hidden, device.threads());
  ZeroSums(device, scratch.sums, op.hidden);
  device.pool.Run([&](int thread) {
    const Range rows = Split({0, op.tokens}, device.threads(), thread);
    const int64_t at = rows.begin * op.hidden;
    device.kernels.normalize_backward_assign(Rows(op, rows), Data(op.inverse_rms) + rows.begin,
                                             Data(dy) + at, Data(dx) + at, scratch.sums.Of(thread));
  });
  AddSums(device, scratch.sums, 0, op.hidden, Data(d_weight));
}

}  // namespace gyre::cpu
