#include "cli/byte_display.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

TEST(ByteLineTest, SaysHowFarHowFastAndHowLongStill) {
  EXPECT_EQ(ByteLine({"tokenizing", 500'000'000, 2'000'000'000}, Millis(20'000), 0),
            "tokenizing  [#####---------------]  500 MB of 2.0 GB  25 MB/s  ETA 1m 00s");
  EXPECT_EQ(ByteLine({"reading", 0, 1000}, Millis(0), 0),
            "reading  [--------------------]  0 B of 1.0 kB");
  EXPECT_EQ(ByteLine({"reading", 1000, 1000}, Millis(2000), 0),
            "reading  [####################]  1.0 kB of 1.0 kB  500 B/s");
  EXPECT_EQ(ByteLine({"reading", 7, 0}, Millis(0), 0),
            "reading  [####################]  1 B of 1 B");
  EXPECT_EQ(ByteLine({"tokenizing", 500'000'000, 2'000'000'000}, Millis(20'000), 30),
            "tokenizing  [#####-----------…");
}

}  // namespace
}  // namespace gyre
