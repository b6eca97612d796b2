#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/trainer/backend/cuda/device_array.h"
#include "trainer/backend/cuda/kernels/kernels.h"

namespace gyre::cuda {
namespace {

TEST(Conversion, RoundsToNearestTiesToEven) {
  const float one = 1, step = 0x1p-7f;  // of bfloat16 at 1
  const DeviceArray<float> x({one + 0.4f * step, one + 0.5f * step, one + 0.6f * step,
                              one + 1.5f * step, -one - 0.5f * step, 0.0f,
                              std::numeric_limits<float>::infinity()});
  const DeviceArray<Bf16> y(x.count());
  Narrowed(nullptr, x.data(), x.count(), y.data());
  EXPECT_EQ(ToFloat(y.Values()),
            (std::vector<float>{one, one, one + step, one + 2 * step, -one, 0.0f,
                                std::numeric_limits<float>::infinity()}));
}

TEST(Conversion, EveryCountAndNoMore) {
  for (const int64_t count : {0, 1, 255, 257, 1000}) {
    std::vector<float> values(count);
    for (int64_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i));
    const DeviceArray<float> x(values);
    const DeviceArray<Bf16> y(std::vector<Bf16>(count + 1, __float2bfloat16_rn(7)));
    Narrowed(nullptr, x.data(), count, y.data());
    std::vector<float> expected = ToFloat(ToBf16(values));
    expected.push_back(7);
    EXPECT_EQ(ToFloat(y.Values()), expected) << count;
  }
}

}  // namespace
}  // namespace gyre::cuda
