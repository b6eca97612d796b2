#include "trainer/backend/cpu/kernels/kernels.h"
#include "trainer/backend/cpu/kernels/lanes.h"

namespace gyre::cpu::GYRE_INSTRUCTION_SET {
namespace {

template <typename In, typename Out>
[[gnu::flatten]] void Convert(const In* x, int64_t count, Out* y) {
  ForLanes(count, [=](int64_t i, auto lanes) { Store(lanes, Load(lanes, x + i), y + i); });
}

}  // namespace

void AddConversion(Kernels* kernels) {
  kernels->to_float.narrow = kernels->to_float.widen = Convert<float, float>;
  kernels->to_bf16.narrow = Convert<float, Bf16>;
  kernels->to_bf16.widen = Convert<Bf16, float>;
}

}  // namespace gyre::cpu::GYRE_INSTRUCTION_SET
