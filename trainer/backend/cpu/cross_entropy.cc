#include <algorithm>

#include "trainer/backend/cpu/linear.h"
#include "trainer/backend/cpu/operations.h"

namespace gyre::cpu {

void LinearCrossEntropyRows(Device& device, const LinearCrossEntropy& op,
                            const LinearCrossEntropyGradients* g) {
  const int threads = device.threads();
  const int64_t stride = Workspace::LogitStride(op.vocab);
  const int64_t block_rows = threads * Workspace::LogitRows(op.vocab);
  float* logits = device.workspace.logits();
  for (int64_t n = 0; n < op.tokens; n += block_rows) {
    const Range block{n, std::min(n + block_rows, op.tokens)};
    device.pool.Run([&](int thread) {
      const Range rows = Split(block, threads, thread);
      if (rows.size() == 0) return;
      float* mine = logits + (rows.begin - block.begin) * stride;
      device.Multiply({.m = rows.size(),
                       .n = op.vocab,
                       .k = op.hidden,
                       .a = {Data(op.x) + rows.begin * op.hidden, op.hidden},
                       .b = {Data(op.weight), op.hidden, /*transposed=*/true},
                       .c = mine,
                       .c_stride = stride});
      const auto cross_entropy =
          g != nullptr ? device.kernels.cross_entropy_gradient : device.kernels.cross_entropy;
      cross_entropy({mine, stride, rows.size(), op.vocab, Data(op.targets) + rows.begin},
                    Data(op.nll) + rows.begin);
      if (g == nullptr) return;
      device.Multiply({.m = rows.size(),
                       .n = op.hidden,
                       .k = op.vocab,
                       .a = {mine, stride},
                       .b = {Data(op.weight), op.hidden},
                       .c = Data(g->dx) + rows.begin * op.hidden,
                       .c_stride = op.hidden});
    });
    if (g == nullptr) continue;
    AddWeightGradient(device, block.size(), op.hidden, op.vocab, logits, stride,
                      Data(op.x) + n * op.hidden, Data(g->d_weight));
  }
}

}  // namespace gyre::cpu
