#include "sweeps/spec/scalar.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gyre {
namespace {

double Value(const std::string& text) {
  const auto number = ReadNumber(text, "a number");
  EXPECT_TRUE(number.value.has_value()) << text << " " << number.complaint.message;
  return number.value ? number.value->value : NAN;
}

TEST(ReadNumberTest, FormsOfNumbers) {
  const std::pair<const char*, double> cases[] = {
      {"1e-3", 1e-3},     {"5e5", 5e5},     {"3E-4", 3e-4},    {"1.0e+3", 1000},
      {"20M", 20000000},  {"400k", 400000}, {"1.6M", 1600000}, {"1.1M", 1100000},
      {"16Ki", 16384},    {"0.5Ki", 512},   {"4Mi", 4194304},  {"1_000_000", 1e6},
      {"75%", 0.75},      {"0.1%", 0.001},  {"-3", -3},        {"+3", 3},
      {".5", 0.5},        {"5.", 5},        {"0", 0},          {"0.5", 0.5},
      {"1e-300", 1e-300}, {"1e-400", 0},    {"2G", 2e9},       {"41_943_040_000", 41943040000},
      {"1.5e-2k", 15},    {"33%", 0.33},
  };
  for (const auto& [text, value] : cases) EXPECT_EQ(Value(text), value) << text;
}

TEST(ReadNumberTest, WholeNumbersAreExact) {
  EXPECT_EQ(ReadNumber("9007199254740993", "").value->whole, 9007199254740993);
  EXPECT_EQ(ReadNumber("4.0", "").value->whole, 4);
  EXPECT_EQ(ReadNumber("1.6M", "").value->whole, 1600000);
  EXPECT_FALSE(ReadNumber("4.5", "").value->whole.has_value());
  EXPECT_FALSE(ReadNumber("1e30", "").value->whole.has_value());
}

TEST(ReadNumberTest, WhatIsNoNumber) {
  for (const char* text : {"",      "x",
                           "1x",    "e5",
                           "1e",    "--3",
                           "1__0",  "_1",
                           "1_",    ".",
                           "1 000", "1,5",
                           "20m",   "5e5e5",
                           "1:30",  "12:30:45",
                           "010",   "-07",
                           "0_1",   "0x10",
                           "0o10",  "0b1",
                           ".nan",  "nan",
                           "inf",   "-.inf",
                           "1e999", "yes",
                           "no",    "true",
                           "20B",   "1KiB",
                           "%",     "9e99999999999999999999"}) {
    const auto number = ReadNumber(text, "a number");
    EXPECT_FALSE(number.value.has_value()) << text;
    EXPECT_FALSE(number.complaint.message.empty()) << text;
  }
  EXPECT_NE(ReadNumber("1:30", "a number").complaint.message.find("base sixty"), std::string::npos);
  EXPECT_NE(ReadNumber("010", "a number").complaint.message.find("base eight"), std::string::npos);
  EXPECT_EQ(ReadNumber("20m", "a number").complaint.help, "did you mean '20M'?");
}

TEST(ReadTimeTest, Units) {
  EXPECT_EQ(ReadTime("90s").value, 90000);
  EXPECT_EQ(ReadTime("10m").value, 600000);
  EXPECT_EQ(ReadTime("2h").value, 7200000);
  EXPECT_EQ(ReadTime("1.5h").value, 5400000);
  EXPECT_EQ(ReadTime("250ms").value, 250);
  for (const char* text : {"90", "1:30", "2 h", "-1s", "s", "1e99h", "010s", ".nan"}) {
    EXPECT_FALSE(ReadTime(text).value.has_value()) << text;
  }
}

TEST(ReadSizeTest, Units) {
  EXPECT_EQ(ReadSize("4GiB").value, int64_t{4} << 30);
  EXPECT_EQ(ReadSize("512MB").value, 512000000);
  for (const char* text : {"4", "4G", "4Gib", "GiB", "-1GiB", "1e30TiB"}) {
    EXPECT_FALSE(ReadSize(text).value.has_value()) << text;
  }
}

// wandb/wandb#1700, wandb/wandb#1323: booleans arrive as texts, and every text is true.
TEST(ReadBooleanTest, OnlyTheWordsOfYaml12) {
  EXPECT_EQ(ReadBoolean("true", false).value, true);
  EXPECT_EQ(ReadBoolean("False", false).value, false);
  for (const char* text : {"yes", "no", "on", "off", "1", "0", "tRue", ""}) {
    EXPECT_FALSE(ReadBoolean(text, false).value.has_value()) << text;
  }
  EXPECT_FALSE(ReadBoolean("true", true).value.has_value());
  EXPECT_EQ(ReadBoolean("yes", false).complaint.help, "write true");
}

TEST(SurpriseInYaml11Test, BooleansAndOldNumbers) {
  for (const char* text :
       {"no", "No", "YES", "on", "off", "true", "FALSE", "1:30", "010", "-012"}) {
    const auto surprise = SurpriseInYaml11(text);
    ASSERT_TRUE(surprise.has_value()) << text;
    EXPECT_NE(surprise->message.find("quote"), std::string::npos);
  }
  for (const char* text :
       {"none", "nope", "RoPE", "0.75-RoPE", "10", "1e3", "a:b", "n", "y", "0", "0.5", "θ=10k"}) {
    EXPECT_FALSE(SurpriseInYaml11(text).has_value()) << text;
  }
}

TEST(FormatNumberTest, ShortestThatReadsBack) {
  const std::pair<double, const char*> cases[] = {{1e-4, "0.0001"},
                                                  {3e-4, "0.0003"},
                                                  {1e-5, "1e-5"},
                                                  {500000, "500000"},
                                                  {0.1, "0.1"},
                                                  {1e15, "1e15"},
                                                  {0, "0"},
                                                  {-2.5, "-2.5"},
                                                  {1e-10, "1e-10"},
                                                  {20000000, "20000000"},
                                                  {1.0 / 3, "0.3333333333333333"},
                                                  {1.5e100, "1.5e100"}};
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(FormatNumber(value), text);
    EXPECT_EQ(Value(FormatNumber(value)), value);
  }
}

}  // namespace
}  // namespace gyre
