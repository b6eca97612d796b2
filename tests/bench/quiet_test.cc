#include "bench/quiet.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gyre {
namespace {

double Tick() { return 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK)); }

TEST(Quiet, CountsWhatTheOwnerOfTheMachineTookAsBusy) {
  const auto seconds =
      ParseProcStat("cpu  10 20 30 1000 5 1 2 300 7 7\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  ASSERT_TRUE(seconds.ok());
  EXPECT_DOUBLE_EQ(seconds->busy, 363 * Tick());
  EXPECT_DOUBLE_EQ(seconds->idle, 1005 * Tick());
}

TEST(Quiet, AnotherTextIsAnError) {
  EXPECT_FALSE(ParseProcStat("").ok());
  EXPECT_FALSE(ParseProcStat("cpu 1 2 3").ok());
  EXPECT_FALSE(ParseProcStat("mem 1 2 3 4 5 6 7 8 9").ok());
}

TEST(Quiet, OthersUseWhatWeDoNot) {
  const MachineSeconds before{100, 200}, after{103, 201};
  EXPECT_DOUBLE_EQ(ForeignShare(before, after, 2), 0.25);
  EXPECT_DOUBLE_EQ(ForeignShare(before, after, 3.1), 0);  // ticks are coarser than our own clock
  EXPECT_DOUBLE_EQ(ForeignShare(before, before, 0), 1);   // a system that counts nothing
}

TEST(Quiet, AGateThatIsOffCallsNothingQuiet) { EXPECT_FALSE(QuietGate(false).Wait(0)); }

}  // namespace
}  // namespace gyre
