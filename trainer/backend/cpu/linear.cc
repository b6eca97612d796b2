#include "trainer/backend/cpu/linear.h"

#include <cstring>

#include "trainer/backend/cpu/operations.h"

namespace gyre::cpu {

void MultiplyRows(Device& device, int64_t rows, int inputs, int outputs, const float* x,
                  const float* weight, float* y, bool add) {
  device.Multiply({.m = rows,
                   .n = outputs,
                   .k = inputs,
                   .a = {x, inputs},
                   .b = {weight, inputs, /*transposed=*/true},
                   .c = y,
                   .c_stride = outputs,
                   .add = add});
}

void MultiplyRowsBack(Device& device, int64_t rows, int inputs, int outputs, const float* dy,
                      const float* weight, float* dx) {
  device.Multiply({.m = rows,
                   .n = inputs,
                   .k = outputs,
                   .a = {dy, outputs},
                   .b = {weight, inputs},
                   .c = dx,
                   .c_stride = inputs});
}

void AddWeightGradient(Device& device, int64_t rows, int inputs, int outputs, const float* dy,
                       int64_t dy_stride, const float* x, float* d_weight) {
  device.pool.Run([&](int thread) {
    Range o{0, outputs}, i{0, inputs};
    Range& longer = outputs >= inputs ? o : i;
    longer = Split(longer, device.threads(), thread, kLanes);
    if (longer.size() == 0) return;
    device.Multiply({.m = o.size(),
                     .n = i.size(),
                     .k = rows,
                     .a = {dy + o.begin, dy_stride, /*transposed=*/true},
                     .b = {x + i.begin, inputs},
                     .c = d_weight + o.begin * inputs + i.begin,
                     .c_stride = inputs,
                     .add = true});
  });
}

void Linear(Device& device, int64_t tokens, int inputs, int outputs, Reals x, Reals weight,
            Reals y) {
  device.pool.Run([&](int thread) {
    const Range rows = Split({0, tokens}, device.threads(), thread);
    if (rows.size() == 0) return;
    MultiplyRows(device, rows.size(), inputs, outputs, Data(x) + rows.begin * inputs, Data(weight),
                 Data(y) + rows.begin * outputs);
  });
}

void LinearResidualForward(Device& device, const LinearResidual& op) {
  device.pool.Run([&](int thread) {
    const Range rows = Split({0, op.tokens}, device.threads(), thread);
    if (rows.size() == 0) return;
    float* y = Data(op.y) + rows.begin * op.outputs;
    std::memcpy(y, Data(op.residual) + rows.begin * op.outputs,
                static_cast<size_t>(rows.size() * op.outputs) * sizeof(float));
    MultiplyRows(device, rows.size(), op.inputs, op.outputs, Data(op.x) + rows.begin * op.inputs,
                 Data(op.weight), y, /*add=*/true);
  });
}

void LinearResidualBackward(Device& device, const LinearResidual& op,
                            const LinearResidualGradients& g) {
  device.pool.Run([&](int thread) {
    const Range rows = Split({0, op.tokens}, device.threads(), thread);
    if (rows.size() == 0) return;
    MultiplyRowsBack(device, rows.size(), op.inputs, op.outputs,
                     Data(g.dy) + rows.begin * op.outputs, Data(op.weight),
                     Data(g.dx) + rows.begin * op.inputs);
  });
  AddWeightGradient(device, op.tokens, op.inputs, op.outputs, Data(g.dy), op.outputs, Data(op.x),
                    Data(g.d_weight));
}

}  // namespace gyre::cpu
