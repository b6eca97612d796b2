#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {

void Norm2(const Device& device, Reals x, int64_t count, Reals norm) {
  const Temporary<double> sums(device.memory, Norm2Sums());
  Norm2(device.stream, Data(x), count, sums, Data(norm));
}

void AdamWStep(const Device& device, const AdamW& op) {
  const Allocation& weights = *static_cast<const Allocation*>(op.weight.memory);
  AdamWUpdate(
      device.stream, op,
      {.gradient = Data(op.gradient),
       .gradient_norm = Data(op.gradient_norm),
       .weight = Data(op.weight),
       .first_moment = Data(op.first_moment),
       .second_moment = Data(op.second_moment),
       .narrow_weight = weights.narrow_is_current ? weights.narrow + op.weight.offset : nullptr});
}

}  // namespace gyre::cuda
