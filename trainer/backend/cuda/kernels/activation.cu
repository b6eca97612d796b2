#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 128;

// Both activations are z sigmoid(u(z)), since (1 + tanh(u / 2)) / 2 = sigmoid(u).
struct Silu {
  static __device__ __forceinline__ float Argument(float z) { return z; }
  static __device__ __forceinline__ float ArgumentSlope(float) { return 1; }
};
struct GeluTanh {
  static constexpr float kTwice = 1.5957691216f;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = 0.044715f;
  static __device__ __forceinline__ float Argument(float z) {
    return z * (kTwice + kTwice * kCubic * z * z);
  }
  static __device__ __forceinline__ float ArgumentSlope(float z) {
    return kTwice + 3 * kTwice * kCubic * z * z;
  }
};

template <typename A>
struct Active {
  // e^-u stays below 2^125, so that its inverse is no zero. The fast functions err by 1e-6 at most
  // where the sigmoid is not small.
  __device__ __forceinline__ explicit Active(float z) : z(z) {
    const float e = __expf(fminf(-A::Argument(z), 86));
    sigmoid = __fdividef(1, 1 + e);
    rest = e * sigmoid;  // 1 - sigmoid, without cancellation
    value = z * sigmoid;
  }
  __device__ __forceinline__ float Slope() const {
    return sigmoid + value * rest * A::ArgumentSlope(z);
  }
  float z, sigmoid, rest, value;
};

template <int N, typename A, bool kGated, typename Narrow>
__global__ void __launch_bounds__(kThreads)
    ActivateKernel(int64_t rows, int inner, const Narrow* __restrict__ gate_up,
                   Narrow* __restrict__ activated) {
  const int64_t c = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * N;
  if (c >= inner) return;
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; row < rows; row += step) {
    const Narrow* from = gate_up + row * (kGated ? 2 : 1) * inner + c;
    float out[N], up[N];
    Load<N>(from, out);
    if constexpr (kGated) Load<N>(from + inner, up);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      out[j] = Active<A>(out[j]).value;
      if constexpr (kGated) out[j] *= up[j];
    }
    Store<N>(out, activated + row * inner + c);
  }
}

template <int N, typename A, bool kGated, typename Narrow>
__global__ void __launch_bounds__(kThreads)
    ActivateBackwardKernel(int64_t rows, int inner, const Narrow* __restrict__ gate_up,
                           const Narrow* d_activated, Narrow* __restrict__ d_gate_up,
                           Narrow* activated) {
  const int64_t c = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * N;
  if (c >= inner) return;
  const int64_t step = int64_t{gridDim.y} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.y} * blockDim.y + threadIdx.y; row < rows; row += step) {
    const int64_t at = row * (kGated ? 2 : 1) * inner + c;
    float gate[N], up[N], d[N], out[N];
    Load<N>(gate_up + at, gate);
    if constexpr (kGated) Load<N>(gate_up + at + inner, up);
    Load<N>(d_activated + row * inner + c, d);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const Active<A> active(gate[j]);
      out[j] = active.value;
      gate[j] = d[j] * active.Slope();
      if constexpr (kGated) {
        out[j] *= up[j];
        gate[j] *= up[j];
        up[j] = d[j] * active.value;
      }
    }
    Store<N>(gate, d_gate_up + at);
    if constexpr (kGated) Store<N>(up, d_gate_up + at + inner);
    Store<N>(out, activated + row * inner + c);
  }
}

template <int N, typename Narrow>
auto Forward(const ActivatedRows& in) {
  if (in.activation == Activation::kSilu) {
    return in.gated ? ActivateKernel<N, Silu, true, Narrow>
                    : ActivateKernel<N, Silu, false, Narrow>;
  }
  return in.gated ? ActivateKernel<N, GeluTanh, true, Narrow>
                  : ActivateKernel<N, GeluTanh, false, Narrow>;
}

template <int N, typename Narrow>
auto Backward(const ActivatedRows& in) {
  if (in.activation == Activation::kSilu) {
    return in.gated ? ActivateBackwardKernel<N, Silu, true, Narrow>
                    : ActivateBackwardKernel<N, Silu, false, Narrow>;
  }
  return in.gated ? ActivateBackwardKernel<N, GeluTanh, true, Narrow>
                  : ActivateBackwardKernel<N, GeluTanh, false, Narrow>;
}

}  // namespace

template <typename Narrow>
void Activate(cudaStream_t stream, const ActivatedRows& in, const Narrow* gate_up,
              Narrow* activated) {
  if (in.rows == 0 || in.inner == 0) return;
  constexpr int kN = kPack<Narrow>;
  const bool packs = Packs<kN>(in.inner, gate_up, activated);
  const ColumnGrid grid(in.rows, in.inner / (packs ? kN : 1), kThreads);
  Launch(stream, grid.blocks, grid.threads, 0,
         packs ? Forward<kN, Narrow>(in) : Forward<1, Narrow>(in), in.rows, in.inner, gate_up,
         activated);
}

template <typename Narrow>
void ActivateBackward(cudaStream_t stream, const ActivatedRows& in, const Narrow* gate_up,
                      const Narrow* d_activated, Narrow* d_gate_up, Narrow* activated) {
  if (in.rows == 0 || in.inner == 0) return;
  constexpr int kN = kPack<Narrow>;
  const bool packs = Packs<kN>(in.inner, gate_up, d_activated, d_gate_up, activated);
  const ColumnGrid grid(in.rows, in.inner / (packs ? kN : 1), kThreads);
  Launch(stream, grid.blocks, grid.threads, 0,
         packs ? Backward<kN, Narrow>(in) : Backward<1, Narrow>(in), in.rows, in.inner, gate_up,
         d_activated, d_gate_up, activated);
}

template void Activate(cudaStream_t, const ActivatedRows&, const float*, float*);
template void Activate(cudaStream_t, const ActivatedRows&, const Bf16*, Bf16*);
template void ActivateBackward(cudaStream_t, const ActivatedRows&, const float*, const float*,
                               float*, float*);
template void ActivateBackward(cudaStream_t, const ActivatedRows&, const Bf16*, const Bf16*, Bf16*,
                               Bf16*);

}  // namespace gyre::cuda
