#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

// Of one row, which is padded with logits that add nothing.
struct Row {
  Row(const LogitRows& op, int64_t i) : logits(op.logits + i * op.stride), stride(op.stride) {
    const float* from = logits;
    for (int64_t c = op.vocab; c < stride; ++c) logits[c] = -__builtin_inff();
    largest = Largest(stride, [=](int64_t c, auto lanes) { return Load(lanes, from + c); });
  }

  // e^(logit - largest).
  template <typename Lanes>
  Floats Exp(Lanes lanes, int64_t c) const {
    return Exp2((Load(lanes, logits + c) - largest) * kLog2E);
  }

  float* logits;
  int64_t stride;
  float largest;
};

[[gnu::flatten]] void CrossEntropy(const LogitRows& op, float* nll) {
  for (int64_t i = 0; i < op.rows; ++i) {
    nll[i] = 0;
    if (op.targets[i] < 0) continue;
    const Row row(op, i);
    const float sum = Sum(op.stride, [=](int64_t c, auto lanes) { return row.Exp(lanes, c); });
    nll[i] = Log(Broadcast(sum))[0] + (row.largest - row.logits[op.targets[i]]);
  }
}

template <typename Narrow>
[[gnu::flatten]] void CrossEntropyGradient(const LogitRows& op, Narrow* gradient, float* nll) {
  for (int64_t i = 0; i < op.rows; ++i) {
    Narrow* out = gradient + i * op.stride;
    const int target = op.targets[i];
    if (target < 0) {
      nll[i] = 0;
      ForLanes(op.stride, [=](int64_t c, auto lanes) { Store(lanes, Floats{}, out + c); });
      continue;
    }
    const Row row(op, i);
    const float below = row.largest - row.logits[target];
    const float sum = Sum(op.stride, [=](int64_t c, auto lanes) {
      const Floats e = row.Exp(lanes, c);
      Store(lanes, e, row.logits + c);
      return e;
    });
    nll[i] = Log(Broadcast(sum))[0] + below;
    const float inverse = 1 / sum;
    row.logits[target] -= sum;  // the target's 1, before anything is rounded
    ForLanes(op.stride, [=](int64_t c, auto lanes) {
      Store(lanes, Load(lanes, row.logits + c) * inverse, out + c);
    });
  }
}

}  // namespace

void AddCrossEntropy(Kernels* kernels) {
  kernels->cross_entropy = CrossEntropy;
  kernels->to_float.cross_entropy_gradient = CrossEntropyGradient<float>;
  kernels->to_bf16.cross_entropy_gradient = CrossEntropyGradient<Bf16>;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
