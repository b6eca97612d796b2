// The kernels' source: each kernels_*.cc defines GYRE_KERNELS_NAME, GYRE_KERNELS_TABLE and includes this under its own
// compiler flags. Only built-ins here, no inline function of a library: the linker keeps one copy of such a function for
// the whole program, and it could be the one that other machines cannot run.

#include "trainer/backend/cpu/kernels.h"

namespace gyre::cpu {
namespace {

#define GYRE_INLINE inline __attribute__((always_inline))

GYRE_INLINE float AsFloat(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

GYRE_INLINE uint32_t AsBits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}

// exp(x) to about one unit in the last place: 2^n e^r with n the nearest integer to x / ln 2, |r| <= ln 2 / 2. Inputs
// are held within the normal floats; NaN stays NaN.
GYRE_INLINE float Exp(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  x = x < -87.3f ? -87.3f : x;
  x = x > 88.7f ? 88.7f : x;
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  float r = x - n * 0.693359375f;  // ln 2 in two parts, the first exact in products with small integers
  r = r + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;  // minimax polynomial of Cephes' expf
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // p lies in [0.7, 1.42]: adding n to its exponent is an exact multiplication.
  return AsFloat(AsBits(p) + (AsBits(shifted) << 23));
}

// ln(x) only once a row: the library's.
GYRE_INLINE float Log(float x) { return __builtin_logf(x); }

void Scale(int64_t n, float scale, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = scale * x[i];
}

void AddScaled(int64_t n, float scale, const float* x, float* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

double SumOfSquares(int64_t n, const float* x) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

GYRE_INLINE float Dot(int n, const float* a, const float* b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void NormForward(const NormRows& in, float* y, float* inverse_rms) {
  const int n = in.n;
  const float plus = in.one_plus ? 1.0f : 0.0f;
  const float* __restrict__ weight = in.weight;
  for (int64_t row = 0; row < in.rows; ++row) {
    const float* x = in.x + row * n;
    float* out = y + row * n;
    const float inverse = 1 / __builtin_sqrtf(Dot(n, x, x) / static_cast<float>(n) + in.epsilon);
    inverse_rms[row] = inverse;
#pragma omp simd
    for (int c = 0; c < n; ++c) out[c] = (plus + weight[c]) * (x[c] * inverse);
  }
}

void NormBackward(const NormRows& in, const float* inverse_rms, const float* dy, bool add, float* dx,
                  float* d_weight) {
  const int n = in.n;
  const float plus = in.one_plus ? 1.0f : 0.0f;
  const float* __restrict__ weight = in.weight;
  for (int64_t row = 0; row < in.rows; ++row) {
    const float* x = in.x + row * n;
    const float* d_out = dy + row * n;
    float* d_in = dx + row * n;
    const float inverse = inverse_rms[row];
    float along = 0;  // how much dy would lengthen x
#pragma omp simd reduction(+ : along)
    for (int c = 0; c < n; ++c) {
      along += d_out[c] * (plus + weight[c]) * x[c];
      d_weight[c] += d_out[c] * (x[c] * inverse);
    }
    const float pull = along * inverse * inverse / static_cast<float>(n);
    if (add) {
#pragma omp simd
      for (int c = 0; c < n; ++c) {
        d_in[c] += inverse * ((plus + weight[c]) * d_out[c] - pull * x[c]);
      }
    } else {
#pragma omp simd
      for (int c = 0; c < n; ++c) {
        d_in[c] = inverse * ((plus + weight[c]) * d_out[c] - pull * x[c]);
      }
    }
  }
}

void Rotate(int heads, int head_dim, const PairRun* runs, int run_count, const float* cosine,
            const float* sine, float direction, float* x) {
  for (int head = 0; head < heads; ++head) {
    for (int r = 0; r < run_count; ++r) {
      const PairRun run = runs[r];
      const float* c = cosine + run.pair;
      const float* s = sine + run.pair;
      float* a = x + head * head_dim + run.a;
      float* b = x + head * head_dim + run.b;
      if (run.stride == 1) {
#pragma omp simd
        for (int i = 0; i < run.count; ++i) {
          const float xa = a[i], xb = b[i], turn = direction * s[i];
          a[i] = xa * c[i] - xb * turn;
          b[i] = xb * c[i] + xa * turn;
        }
      } else {
        for (int i = 0; i < run.count; ++i) {
          const float xa = a[i * run.stride], xb = b[i * run.stride], turn = direction * s[i];
          a[i * run.stride] = xa * c[i] - xb * turn;
          b[i * run.stride] = xb * c[i] + xa * turn;
        }
      }
    }
  }
}

GYRE_INLINE float Sigmoid(float z) { return 1 / (1 + Exp(-z)); }

// Both activations are z sigmoid(w): w = z for silu; for gelu's tanh form w = 2 sqrt(2/pi) (z + 0.044715 z^3), since
// (1 + tanh(u)) / 2 = sigmoid(2u). `slope` is dw/dz.
struct Argument {
  float w, slope;
};

template <Activation kActivation>
GYRE_INLINE Argument ArgumentOf(float z) {
  if (kActivation == Activation::kSilu) return {z, 1};
  constexpr float kA = 1.5957691216f, kB = 0.044715f;
  return {kA * (z + kB * z * z * z), kA * (1 + 3 * kB * z * z)};
}

template <Activation kActivation>
GYRE_INLINE void GateForwardRows(int64_t rows, int n, const float* gate_up, float* activated) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* gate = gate_up + row * 2 * n;
    const float* up = gate + n;
    float* out = activated + row * n;
#pragma omp simd
    for (int i = 0; i < n; ++i) {
      out[i] = gate[i] * Sigmoid(ArgumentOf<kActivation>(gate[i]).w) * up[i];
    }
  }
}

template <Activation kActivation>
GYRE_INLINE void GateBackwardRows(int64_t rows, int n, const float* d_activated, float* gate_up) {
  for (int64_t row = 0; row < rows; ++row) {
    float* gate = gate_up + row * 2 * n;
    float* up = gate + n;
    const float* d_out = d_activated + row * n;
#pragma omp simd
    for (int i = 0; i < n; ++i) {
      const float z = gate[i];
      const Argument argument = ArgumentOf<kActivation>(z);
      const float s = Sigmoid(argument.w);
      const float d = d_out[i];
      gate[i] = d * up[i] * (s + z * s * (1 - s) * argument.slope);
      up[i] = d * z * s;
    }
  }
}

void GateForward(Activation activation, int64_t rows, int n, const float* gate_up,
                 float* activated) {
  if (activation == Activation::kSilu) {
    GateForwardRows<Activation::kSilu>(rows, n, gate_up, activated);
  } else {
    GateForwardRows<Activation::kGeluTanh>(rows, n, gate_up, activated);
  }
}

void GateBackward(Activation activation, int64_t rows, int n, const float* d_activated,
                  float* gate_up) {
  if (activation == Activation::kSilu) {
    GateBackwardRows<Activation::kSilu>(rows, n, d_activated, gate_up);
  } else {
    GateBackwardRows<Activation::kGeluTanh>(rows, n, d_activated, gate_up);
  }
}

GYRE_INLINE void ClearOutside(const VisibleKeys& visible, int keys, float* row) {
  for (int j = 0; j < visible.first; ++j) row[j] = 0;
  for (int j = visible.end; j < keys; ++j) row[j] = 0;
}

void Softmax(int rows, int keys, int64_t stride, const VisibleKeys* visible, float slope,
             int query_column, float* scores, float* log_sum_exp, int64_t log_stride) {
  for (int r = 0; r < rows; ++r) {
    float* row = scores + r * stride;
    const VisibleKeys seen = visible[r];
    ClearOutside(seen, keys, row);
    float largest = row[seen.first] + slope * static_cast<float>(seen.first - query_column - r);
#pragma omp simd reduction(max : largest)
    for (int j = seen.first; j < seen.end; ++j) {
      row[j] += slope * static_cast<float>(j - query_column - r);
      largest = row[j] > largest ? row[j] : largest;
    }
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = seen.first; j < seen.end; ++j) {
      row[j] = Exp(row[j] - largest);
      sum += row[j];
    }
    const float inverse = 1 / sum;
#pragma omp simd
    for (int j = seen.first; j < seen.end; ++j) row[j] *= inverse;
    log_sum_exp[r * log_stride] = largest + Log(sum);
  }
}

void SoftmaxAgain(int rows, int keys, int64_t stride, const VisibleKeys* visible, float slope,
                  int query_column, const float* log_sum_exp, int64_t log_stride, float* scores) {
  for (int r = 0; r < rows; ++r) {
    float* row = scores + r * stride;
    const VisibleKeys seen = visible[r];
    ClearOutside(seen, keys, row);
    const float log_sum = log_sum_exp[r * log_stride];
#pragma omp simd
    for (int j = seen.first; j < seen.end; ++j) {
      row[j] = Exp(row[j] + slope * static_cast<float>(j - query_column - r) - log_sum);
    }
  }
}

void SoftmaxBackward(int rows, int keys, int64_t stride, const VisibleKeys* visible, float scale, int n,
                     int64_t output_stride, const float* output, const float* d_output,
                     const float* probabilities, float* d_scores) {
  for (int r = 0; r < rows; ++r) {
    const float* p = probabilities + r * stride;
    float* d = d_scores + r * stride;
    const VisibleKeys seen = visible[r];
    ClearOutside(seen, keys, d);
    const float mean = Dot(n, output + r * output_stride, d_output + r * output_stride);
#pragma omp simd
    for (int j = seen.first; j < seen.end; ++j) d[j] = scale * p[j] * (d[j] - mean);
  }
}

void CrossEntropy(int64_t rows, int n, const int32_t* targets, bool gradient, float* logits,
                  float* nll) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = logits + r * n;
    const int32_t target = targets[r];
    if (target < 0) {
      nll[r] = 0;
      for (int v = 0; gradient && v < n; ++v) row[v] = 0;
      continue;
    }
    float largest = row[0];
#pragma omp simd reduction(max : largest)
    for (int v = 0; v < n; ++v) largest = row[v] > largest ? row[v] : largest;
    const float wanted = row[target];
    float sum = 0;
    if (!gradient) {
#pragma omp simd reduction(+ : sum)
      for (int v = 0; v < n; ++v) sum += Exp(row[v] - largest);
    } else {
#pragma omp simd reduction(+ : sum)
      for (int v = 0; v < n; ++v) {
        row[v] = Exp(row[v] - largest);
        sum += row[v];
      }
      const float inverse = 1 / sum;
#pragma omp simd
      for (int v = 0; v < n; ++v) row[v] *= inverse;
      row[target] -= 1;
    }
    nll[r] = Log(sum) + (largest - wanted);
  }
}

void AdamW(int64_t n, const AdamWFactors& f, const float* gradient, float* weight, float* m,
           float* v) {
  const AdamWFactors factors = f;
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const float g = factors.gradient_scale * gradient[i];
    const float first = factors.beta1 * m[i] + (1 - factors.beta1) * g;
    const float second = factors.beta2 * v[i] + (1 - factors.beta2) * g * g;
    m[i] = first;
    v[i] = second;
    const float root = __builtin_sqrtf(second) * factors.second_scale + factors.epsilon;
    weight[i] -= factors.step_size * first / root + factors.decay * weight[i];
  }
}

void Product(int64_t m, int64_t n, int64_t k, float alpha, const float* a, int64_t a_row,
             int64_t a_column, const float* b, int64_t b_row, int64_t b_column, float beta, float* c,
             int64_t c_stride) {
  for (int64_t i = 0; i < m; ++i) {
    float* row = c + i * c_stride;
    for (int64_t j = 0; j < n; ++j) row[j] = beta == 0 ? 0 : beta * row[j];
    if (b_column == 1) {  // rows of b are contiguous: add them up
      for (int64_t l = 0; l < k; ++l) {
        AddScaled(n, alpha * a[i * a_row + l * a_column], b + l * b_row, row);
      }
      continue;
    }
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int64_t l = 0; l < k; ++l) {
        sum += a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
      }
      row[j] += alpha * sum;
    }
  }
}

}  // namespace

extern const Kernels GYRE_KERNELS_TABLE;
const Kernels GYRE_KERNELS_TABLE = {
    GYRE_KERNELS_NAME, Scale,   AddScaled,    SumOfSquares,    NormForward,  NormBackward, Rotate,
    GateForward,       GateBackward, Softmax, SoftmaxAgain,    SoftmaxBackward, CrossEntropy, AdamW,
    Product};

}  // namespace gyre::cpu
