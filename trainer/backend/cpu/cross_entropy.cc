#include <algorithm>

#include "trainer/backend/cpu/linear.h"
#include "trainer/backend/cpu/operations.h"
#include "trainer/backend/cpu/scratch.h"

namespace gyre::cpu {
namespace {

template <typename Narrow>
using Scratch = CrossEntropyScratch<Narrow>;

// The weights (RoundUp(V), C): those of tokens that do not exist are 0.
template <typename Narrow>
const float* Padded(const LinearCrossEntropy& op, const Scratch<Narrow>& scratch) {
  if (scratch.padded == nullptr) return Data(op.weight);
  const int64_t count = int64_t{op.vocab} * op.hidden;
  std::copy_n(Data(op.weight), count, scratch.padded);
  std::fill_n(scratch.padded + count, RoundUp(op.vocab) * op.hidden - count, 0.0f);
  return scratch.padded;
}

// Assigns the logits of some rows, the first of which is row `at` of the scratch memory.
template <typename Narrow>
LogitRows Logits(NarrowDevice<Narrow>& device, const LinearCrossEntropy& op,
                 const Scratch<Narrow>& scratch, const PackedMatrix<Narrow>& form, Range rows,
                 int64_t at) {
  const int64_t stride = RoundUp(op.vocab);
  float* logits = scratch.logits + at * stride;
  const Narrow* x = device.Narrowed(Data(op.x) + rows.begin * op.hidden, rows.size() * op.hidden,
                                    scratch.x + at * op.hidden);
  MultiplyRows(device, rows.size(), x, form, logits);
  return {logits, stride, rows.size(), op.vocab, Data(op.targets) + rows.begin};
}

// Rows of a block, from row `at` of it, once Logits has been called for them.
const float* NarrowX(const LinearCrossEntropy& op, const Scratch<float>&, Range rows, int64_t) {
  return Data(op.x) + rows.begin * op.hidden;
}
const Bf16* NarrowX(const LinearCrossEntropy& op, const Scratch<Bf16>& scratch, Range, int64_t at) {
  return scratch.x + at * op.hidden;
}

}  // namespace

template <typename Narrow>
void LinearCrossEntropyForward(NarrowDevice<Narrow>& device, const LinearCrossEntropy& op) {
  const Scratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const auto form = ForwardForm(Padded(op, scratch), RoundUp(op.vocab), op.hidden, scratch.forward);
  device.pool.Run([&](int thread) { device.Pack(form, thread); });
  const int64_t most = LogitRowsPerThread(op.vocab);
  ForRows(device, op.tokens, [&](Range rows, int thread) {
    for (int64_t n = rows.begin; n < rows.end; n += most) {
      const Range some{n, std::min(n + most, rows.end)};
      device.kernels.cross_entropy(Logits(device, op, scratch, form, some, thread * most),
                                   Data(op.nll) + n);
    }
  });
}

template <typename Narrow>
void LinearCrossEntropyForwardBackward(NarrowDevice<Narrow>& device, const LinearCrossEntropy& op,
                                       const LinearCrossEntropyGradients& g) {
  const Scratch<Narrow> scratch(device.workspace.Carve(), Shape(op), device.threads());
  const int64_t stride = RoundUp(op.vocab);
  const float* weight = Padded(op, scratch);
  const auto forward = ForwardForm(weight, stride, op.hidden, scratch.forward);
  const auto backward = BackwardForm(weight, stride, op.hidden, scratch.backward);
  device.pool.Run([&](int thread) {
    device.Pack(forward, thread);
    device.Pack(backward, thread);
  });
  const WeightGradient<Narrow> d_weight(device, op.vocab, stride, op.hidden, scratch.d_transposed,
                                        scratch.packed_x);
  ForBlocks(
      device, op.tokens, LogitRowsPerThread(op.vocab), LogitRowsPerThread(op.vocab),
      [&](const BlockRows& mine, int) {
        const Range rows = mine.rows;
        const LogitRows logits = Logits(device, op, scratch, forward, rows, mine.at);
        Narrow* d_logits = scratch.d_logits + mine.at * stride;
        device.narrow.cross_entropy_gradient(logits, d_logits, Data(op.nll) + rows.begin);
        d_weight.LeaveDy(mine, d_logits);
        d_weight.LeaveX(mine, NarrowX(op, scratch, mine.rows, mine.at));
        MultiplyRows(device, rows.size(), d_logits, backward, Data(g.dx) + rows.begin * op.hidden);
      },
      [&](Range block, int thread) {
        d_weight.Add(block.size(), thread, Data(g.d_weight), NarrowX(op, scratch, block, 0));
      });
}

#define GYRE_INSTANTIATE(Narrow)                                                             \
  template void LinearCrossEntropyForward(NarrowDevice<Narrow>&, const LinearCrossEntropy&); \
  template void LinearCrossEntropyForwardBackward(                                           \
      NarrowDevice<Narrow>&, const LinearCrossEntropy&, const LinearCrossEntropyGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cpu
