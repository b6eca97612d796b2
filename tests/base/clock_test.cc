#include "base/clock.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

TEST(Clock, FormatsUtcWithMilliseconds) {
  EXPECT_EQ(FormatUtc(Millis(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatUtc(Millis(1709210096007)), "2024-02-29T12:34:56.007Z");
}

}  // namespace
}  // namespace gyre
