#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/vector_math.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

// Of one query: the visible keys [begin, end), and the whole lanes around them [low, high).
struct Visible {
  Visible(const ScoreBlock& op, int i)
      : begin(op.first[i]),
        end(op.last + i + 1),
        low(begin / kLanes * kLanes),
        high((end + kLanes - 1) / kLanes * kLanes),
        all((op.keys + kLanes - 1) / kLanes * kLanes) {}

  void ZeroRest(float* row) const {
    for (int c = 0; c < low; ++c) row[c] = 0;
    for (int c = high; c < all; ++c) row[c] = 0;
  }

  int begin, end, low, high, all;
};

void Softmax(const ScoreBlock& op, float* log_sum_exp, int64_t log_stride) {
  for (int i = 0; i < op.queries; ++i) {
    float* row = op.scores + i * op.stride;
    const Visible keys(op, i);
    const int begin = keys.begin, end = keys.end, query = op.last + i;
    const float slope = op.slope;
    float largest = -__builtin_inff();
#pragma omp simd reduction(max : largest)
    for (int c = keys.low; c < keys.high; ++c) {
      const float logit = row[c] - slope * static_cast<float>(query - c);
      row[c] = c >= begin && c < end ? logit : -__builtin_inff();
      largest = largest > row[c] ? largest : row[c];
    }
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int c = keys.low; c < keys.high; ++c) {
      row[c] = Exp(row[c] - largest);
      sum += row[c];
    }
    const float inverse = 1 / sum;
#pragma omp simd
    for (int c = keys.low; c < keys.high; ++c) row[c] *= inverse;
    keys.ZeroRest(row);
    log_sum_exp[i * log_stride] = largest + __builtin_logf(sum);
  }
}

void SoftmaxBackward(const ScoreBlock& op, const ScoreBlockGradients& g, const float* log_sum_exp,
                     int64_t log_stride) {
  for (int i = 0; i < op.queries; ++i) {
    float* row = op.scores + i * op.stride;
    float* d_row = g.d_scores + i * op.stride;
    const float* output = g.output + i * g.output_stride;
    const float* d_output = g.d_output + i * g.output_stride;
    const Visible keys(op, i);
    const int begin = keys.begin, end = keys.end, query = op.last + i;
    const float slope = op.slope, scale = g.scale, log_sum = log_sum_exp[i * log_stride];
    float mean = 0;  // of the gradients of the probabilities
#pragma omp simd reduction(+ : mean)
    for (int c = 0; c < g.head_dim; ++c) mean += output[c] * d_output[c];
#pragma omp simd
    for (int c = keys.low; c < keys.high; ++c) {
      const bool visible = c >= begin && c < end;
      const float p = Exp(row[c] - slope * static_cast<float>(query - c) - log_sum);
      row[c] = visible ? p : 0;
      d_row[c] = visible ? p * (d_row[c] - mean) * scale : 0;
    }
    keys.ZeroRest(row);
    keys.ZeroRest(d_row);
  }
}

}  // namespace

void AddSoftmax(Kernels* kernels) {
  kernels->softmax = Softmax;
  kernels->softmax_backward = SoftmaxBackward;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
