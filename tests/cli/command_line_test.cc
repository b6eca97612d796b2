#include "cli/command_line.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

TEST(NearestWord, FindsTheCommandThatWasMeant) {
  const std::vector<std::string> commands = {"run", "plan", "submit", "status", "compare", "query"};
  EXPECT_EQ(NearestWord("sumbit", commands), "submit");
  EXPECT_EQ(NearestWord("stats", commands), "status");
  EXPECT_EQ(NearestWord("comapre", commands), "compare");
  EXPECT_EQ(NearestWord("rnu", commands), "run");
  EXPECT_EQ(NearestWord("plans", commands), "plan");
  EXPECT_EQ(NearestWord("frobnicate", commands), "");
  EXPECT_EQ(NearestWord("", commands), "");
}

}  // namespace
}  // namespace gyre
