#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

// Without gradients (none given), or with: then the logits become their gradient in place.
void Device::LossRows(const LinearCrossEntropy& op, const LinearCrossEntropyGradients* gradients) {
  Blocks(op.tokens, LogitBlock(op.vocab), [&](Range rows) {
    const float* x = Data(op.x) + rows.begin * op.hidden;
    Forward(rows.size(), op.hidden, op.vocab, x, Data(op.weight), 0, logits_);
    Split(rows.size(), [&](int, Range part) {
      kernels_.cross_entropy(part.size(), op.vocab, Data(op.targets) + rows.begin + part.begin,
                             gradients != nullptr, logits_ + part.begin * op.vocab,
                             Data(op.nll) + rows.begin + part.begin);
    });
    if (gradients == nullptr) return;
    BackwardInput(rows.size(), op.hidden, op.vocab, logits_, Data(op.weight),
                  Data(gradients->dx) + rows.begin * op.hidden);
    BackwardWeight(rows.size(), op.hidden, op.vocab, logits_, x, Data(gradients->d_weight));
  });
}

void Device::LinearCrossEntropyForward(const LinearCrossEntropy& op) { LossRows(op, nullptr); }

void Device::LinearCrossEntropyForwardBackward(const LinearCrossEntropy& op,
                                               const LinearCrossEntropyGradients& gradients) {
  LossRows(op, &gradients);
}

}  // namespace gyre::cpu
