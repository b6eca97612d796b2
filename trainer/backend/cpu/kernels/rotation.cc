#include "trainer/backend/cpu/kernels/kernels.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

// kStride 0: whatever the run says. Known strides are vectorized.
template <int kStride>
void TurnRun(const PairRun& run, const float* cosine, const float* sine, float direction,
             float* head) {
  const int stride = kStride > 0 ? kStride : run.stride;
  float* a = head + run.a;
  float* b = head + run.b;
#pragma omp simd
  for (int i = 0; i < run.count; ++i) {
    const float c = cosine[i], s = direction * sine[i];
    const float x = a[i * stride], y = b[i * stride];
    a[i * stride] = x * c - y * s;
    b[i * stride] = y * c + x * s;
  }
}

void Turn(const RotatedRows& op, float direction) {
  for (int64_t token = 0; token < op.count; ++token) {
    const int64_t place = (op.first + token) % op.length * op.pairs;
    for (int r = 0; r < op.run_count; ++r) {
      const PairRun& run = op.runs[r];
      const float* cosine = op.cosine + place + run.pair;
      const float* sine = op.sine + place + run.pair;
      const auto turn = run.stride == 1 ? TurnRun<1> : run.stride == 2 ? TurnRun<2> : TurnRun<0>;
      float* head = op.x + token * op.stride;
      for (int h = 0; h < op.heads; ++h, head += op.head_dim)
        turn(run, cosine, sine, direction, head);
    }
  }
}

void Rotate(const RotatedRows& op) { Turn(op, 1); }
void RotateBack(const RotatedRows& op) { Turn(op, -1); }

}  // namespace

void AddRotation(Kernels* kernels) {
  kernels->rotate = Rotate;
  kernels->rotate_back = RotateBack;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
