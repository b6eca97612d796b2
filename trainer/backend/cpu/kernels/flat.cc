// Loops over flat arrays: the optimizer, norms, scaled sums.

#include "trainer/backend/cpu/kernels/kernels.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

void AdamW(const AdamWRows& op) {
  const float* gradient = op.gradient;
  float* weight = op.weight;
  float* first = op.first_moment;
  float* second = op.second_moment;
  const AdamWRows k = op;
#pragma omp simd
  for (int64_t i = 0; i < k.count; ++i) {
    const float g = gradient[i] * k.gradient_scale;
    const float m = k.beta1 * first[i] + k.rest1 * g;
    const float v = k.beta2 * second[i] + k.rest2 * g * g;
    const float direction = m * k.correction1 / (__builtin_sqrtf(v * k.correction2) + k.epsilon);
    first[i] = m;
    second[i] = v;
    weight[i] -= k.lr * (direction + k.weight_decay * weight[i]);
  }
}

double SumOfSquares(const float* x, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void AssignScaled(const float* x, float factor, int64_t count, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = factor * x[i];
}

void AddScaled(const float* x, float factor, int64_t count, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

}  // namespace

void AddFlat(Kernels* kernels) {
  kernels->adamw = AdamW;
  kernels->sum_of_squares = SumOfSquares;
  kernels->assign_scaled = AssignScaled;
  kernels->add_scaled = AddScaled;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
