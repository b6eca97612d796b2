#include <cstring>

#include "trainer/backend/cpu/device.h"

namespace gyre::cpu {

void Device::Forward(int64_t rows, int inputs, int outputs, const float* x, const float* weight,
                     float beta, float* y) {
  Product(rows, outputs, inputs, 1, {x, inputs}, {weight, inputs, true}, beta, y, outputs);
}

void Device::BackwardInput(int64_t rows, int inputs, int outputs, const float* dy,
                           const float* weight, float* dx) {
  Product(rows, inputs, outputs, 1, {dy, outputs}, {weight, inputs}, 0, dx, inputs);
}

void Device::BackwardWeight(int64_t rows, int inputs, int outputs, const float* dy, const float* x,
                            float* d_weight) {
  Product(outputs, inputs, rows, 1, {dy, outputs, true}, {x, inputs}, 1, d_weight, inputs);
}

void Device::Linear(int64_t tokens, int inputs, int outputs, Reals x, Reals weight, Reals y) {
  Forward(tokens, inputs, outputs, Data(x), Data(weight), 0, Data(y));
}

void Device::LinearResidualForward(const LinearResidual& op) {
  Blocks(op.tokens, RowBlock(), [&](Range rows) {
    float* y = Data(op.y) + rows.begin * op.outputs;
    std::memcpy(y, Data(op.residual) + rows.begin * op.outputs,
                sizeof(float) * static_cast<size_t>(rows.size() * op.outputs));
    Forward(rows.size(), op.inputs, op.outputs, Data(op.x) + rows.begin * op.inputs,
            Data(op.weight), 1, y);
  });
}

void Device::LinearResidualBackward(const LinearResidual& op, const LinearResidualGradients& g) {
  Blocks(op.tokens, RowBlock(), [&](Range rows) {
    const float* dy = Data(g.dy) + rows.begin * op.outputs;
    BackwardInput(rows.size(), op.inputs, op.outputs, dy, Data(op.weight),
                  Data(g.dx) + rows.begin * op.inputs);
    BackwardWeight(rows.size(), op.inputs, op.outputs, dy, Data(op.x) + rows.begin * op.inputs,
                   Data(g.d_weight));
  });
}

}  // namespace gyre::cpu
