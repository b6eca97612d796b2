#include "base/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace gyre {
namespace {

TEST(Clock, FormatsUtcWithMilliseconds) {
  EXPECT_EQ(FormatUtc(Millis(0)), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(FormatUtc(Millis(1709210096007)), "2024-02-29T12:34:56.007Z");
}

// optuna/optuna#6708, optuna/optuna-dashboard#971, optuna/optuna-dashboard#759: times depend on
// where the program runs.
TEST(Clock, TimesAreUtcWhereverTheProgramRuns) {
  for (const char* zone : {"America/New_York", "Asia/Kolkata", "UTC"}) {
    setenv("TZ", zone, 1);
    tzset();
    EXPECT_EQ(FormatUtc(Millis(1709210096007)), "2024-02-29T12:34:56.007Z") << zone;
  }
  unsetenv("TZ");
  tzset();
}

}  // namespace
}  // namespace gyre
