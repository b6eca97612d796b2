#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

template <bool kGradient>
void CrossEntropy(const LogitRows& op, float* nll) {
  const int n = op.vocab;
  for (int64_t i = 0; i < op.rows; ++i) {
    float* row = op.logits + i * op.stride;
    const int target = op.targets[i];
    if (target < 0) {
      nll[i] = 0;
      if (kGradient) {
        for (int c = 0; c < n; ++c) row[c] = 0;
      }
      continue;
    }
    for (int64_t c = n; c < op.stride; ++c) row[c] = -__builtin_inff();
    const int padded = static_cast<int>(op.stride);
    float largest = -__builtin_inff();
#pragma omp simd reduction(max : largest)
    for (int c = 0; c < padded; ++c) largest = largest > row[c] ? largest : row[c];
    const float wanted = row[target] - largest;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int c = 0; c < padded; ++c) {
      row[c] = Exp(row[c] - largest);
      sum += row[c];
    }
    nll[i] = __builtin_logf(sum) - wanted;
    if (!kGradient) continue;
    const float inverse = 1 / sum;
#pragma omp simd
    for (int c = 0; c < padded; ++c) row[c] *= inverse;
    row[target] -= 1;
  }
}

}  // namespace

void AddCrossEntropy(Kernels* kernels) {
  kernels->cross_entropy = CrossEntropy<false>;
  kernels->cross_entropy_gradient = CrossEntropy<true>;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
