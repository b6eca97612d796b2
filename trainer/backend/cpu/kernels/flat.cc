// Loops over flat arrays: the optimizer, norms, scaled sums.

#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

[[gnu::flatten]] void AdamW(const AdamWRows& op) {
  ForLanes(op.count, [k = op](int64_t i, auto lanes) {
    const Floats g = Load(lanes, k.gradient + i) * k.gradient_scale;
    const Floats m = k.beta1 * Load(lanes, k.first_moment + i) + k.rest1 * g;
    const Floats v = k.beta2 * Load(lanes, k.second_moment + i) + k.rest2 * g * g;
    const Floats direction = m * k.correction1 / (SquareRoot(v * k.correction2) + k.epsilon);
    const Floats weight = Load(lanes, k.weight + i);
    Store(lanes, m, k.first_moment + i);
    Store(lanes, v, k.second_moment + i);
    Store(lanes, weight - k.lr * (direction + k.weight_decay * weight), k.weight + i);
  });
}

double SumOfSquares(const float* x, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

[[gnu::flatten]] void AssignScaled(const float* x, float factor, int64_t count, float* y) {
  ForLanes(count, [=](int64_t i, auto lanes) { Store(lanes, factor * Load(lanes, x + i), y + i); });
}

[[gnu::flatten]] void AddScaled(const float* x, float factor, int64_t count, float* y) {
  ForLanes(count, [=](int64_t i, auto lanes) {
    Store(lanes, Load(lanes, y + i) + factor * Load(lanes, x + i), y + i);
  });
}

}  // namespace

void AddFlat(Kernels* kernels) {
  kernels->adamw = AdamW;
  kernels->sum_of_squares = SumOfSquares;
  kernels->assign_scaled = AssignScaled;
  kernels->add_scaled = AddScaled;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
