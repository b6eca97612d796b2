#include "trainer/backend/cuda/kernels/kernels.h"
#include "trainer/backend/cuda/kernels/launch.h"
#include "trainer/backend/cuda/kernels/pack.h"

namespace gyre::cuda {
namespace {

constexpr int kThreads = 256;

template <int N>
__global__ void __launch_bounds__(kThreads)
    NarrowedKernel(const float* __restrict__ x, int64_t count, Bf16* __restrict__ y) {
  ForPacks<N>(count, [&]<int kSize>(Size<kSize>, int64_t i) {
    float at[kSize];
    Load<kSize>(x + i, at);
    Store<kSize>(at, y + i);
  });
}

}  // namespace

void Narrowed(cudaStream_t stream, const float* x, int64_t count, Bf16* y) {
  if (count == 0) return;
  constexpr int kN = kPack<Bf16>;
  const bool packs = PacksBegin<kN>(x, y);
  Launch(stream, BlocksFor(packs ? count / kN : count, kThreads), kThreads, 0,
         packs ? NarrowedKernel<kN> : NarrowedKernel<1>, x, count, y);
}

}  // namespace gyre::cuda
