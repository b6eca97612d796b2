#include <algorithm>

#include "trainer/backend/cuda/operations.h"

namespace gyre::cuda {
namespace {

// Calls visit(first row, rows) for as many rows at a time as are held.
template <typename Visit>
void ForChunks(const Device& device, const LinearCrossEntropy& op, const Visit& visit) {
  const int64_t most = LogitRowsAtATime(device.logits, op.vocab);
  for (int64_t n = 0; n < op.tokens; n += most) visit(n, std::min(most, op.tokens - n));
}

// Room for the logits of a chunk, and how they come there.
template <typename Narrow>
struct Logits {
  Logits(const Device& device, const LinearCrossEntropy& op)
      : device(device),
        op(op),
        x(device, Data(op.x), op.tokens * op.hidden),
        values(device.memory, std::min(op.tokens, LogitRowsAtATime(device.logits, op.vocab)) *
                                  LogitStride(op.vocab)) {}

  LogitRows Compute(int64_t first, int64_t rows) const {
    const int64_t stride = LogitStride(op.vocab);
    device.products.Multiply(
        MatrixProduct<Narrow, float>{.rows = rows,
                                     .columns = op.vocab,
                                     .inner = op.hidden,
                                     .a = {x + first * op.hidden, op.hidden, false},
                                     .b = {device.Weight<Narrow>(op.weight), op.hidden, true},
                                     .out = {values, stride, false}});
    return {values, stride, rows, op.vocab, Data(op.targets) + first};
  }

  const Device& device;
  const LinearCrossEntropy& op;
  const NarrowCopy<Narrow> x;
  const Temporary<float> values;
};

}  // namespace

// Sixteen numbers, so that every row starts where vectors do.
int64_t LogitStride(int vocab) { return (int64_t{vocab} + 15) / 16 * 16; }

int64_t LogitRowsAtATime(int64_t logits, int vocab) {
  constexpr int64_t kTile = 128;  // rows a product likes
  return std::max<int64_t>(logits / LogitStride(vocab) / kTile, 1) * kTile;
}

template <typename Narrow>
void LinearCrossEntropyForward(const Device& device, const LinearCrossEntropy& op) {
  const Logits<Narrow> logits(device, op);
  ForChunks(device, op, [&](int64_t first, int64_t rows) {
    CrossEntropy(device.stream, logits.Compute(first, rows), Data(op.nll) + first);
  });
}

template <typename Narrow>
void LinearCrossEntropyForwardBackward(const Device& device, const LinearCrossEntropy& op,
                                       const LinearCrossEntropyGradients& g) {
  const Logits<Narrow> logits(device, op);
  constexpr bool kInPlace = std::is_same_v<Narrow, float>;
  const int64_t held = std::min(op.tokens, LogitRowsAtATime(device.logits, op.vocab));
  const Temporary<Narrow> own(device.memory, kInPlace ? 0 : held * LogitStride(op.vocab));
  ForChunks(device, op, [&](int64_t first, int64_t rows) {
    const LogitRows computed = logits.Compute(first, rows);
    Narrow* d_logits = own;
    if constexpr (kInPlace) d_logits = logits.values;
    CrossEntropyGradient<Narrow>(device.stream, computed, d_logits, Data(op.nll) + first);
    AddWeightGradient<Narrow>(device, rows, op.hidden, op.vocab, d_logits, computed.stride,
                              logits.x + first * op.hidden, Data(g.d_weight));
    MultiplyBack<Narrow>(device, rows, op.hidden, op.vocab, d_logits, computed.stride,
                         device.Weight<Narrow>(op.weight), Data(g.dx) + first * op.hidden);
  });
}

#define GYRE_INSTANTIATE(Narrow)                                                             \
  template void LinearCrossEntropyForward<Narrow>(const Device&, const LinearCrossEntropy&); \
  template void LinearCrossEntropyForwardBackward<Narrow>(                                   \
      const Device&, const LinearCrossEntropy&, const LinearCrossEntropyGradients&);
GYRE_INSTANTIATE(float)
GYRE_INSTANTIATE(Bf16)

}  // namespace gyre::cuda
