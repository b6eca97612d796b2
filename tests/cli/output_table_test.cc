#include "cli/output_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/text_width.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

TextTable Names() {
  return {
      .columns = {{"variant"}, {"n", true}},
      .rows = {{"θ=10k", "3"}, {"θ=500k <script>alert(1)</script>", "12"}, {"日本語 | x", "1"}}};
}

TEST(RenderTable, AlignsByColumns) {
  EXPECT_EQ(RenderTable(Names(), 0),
            "variant                            n\n"
            "--------------------------------  --\n"
            "θ=10k                              3\n"
            "θ=500k <script>alert(1)</script>  12\n"
            "日本語 | x                         1\n");
}

TEST(RenderTable, ShortensTheWidestColumnToFit) {
  const std::string text = RenderTable(Names(), 20);
  EXPECT_THAT(text, HasSubstr("θ=500k <script>…  12\n"));
  EXPECT_THAT(text, HasSubstr("日本語 | x         1\n"));
}

TEST(RenderTable, ACellCannotMoveTheCursor) {
  const TextTable table = {.columns = {{"a"}}, .rows = {{"x\x1b[2J\ny"}}};
  EXPECT_EQ(RenderTable(table, 0), "a\n-----------\nx\\x1b[2J\\ny\n");
}

TEST(RenderMarkdown, ShowsEveryNameAsItIs) {
  EXPECT_EQ(RenderMarkdown(Names()),
            "| variant | n |\n"
            "| --- | ---: |\n"
            "| θ=10k | 3 |\n"
            "| θ=500k \\<script\\>alert(1)\\</script\\> | 12 |\n"
            "| 日本語 \\| x | 1 |\n");
}

TEST(RenderCsv, QuotesAndDefusesText) {
  const QueryTable table = {.columns = {"name", "x"},
                            .rows = {{"plain", int64_t{-3}},
                                     {"a,\"b\"\nc", -0.1},
                                     {"=1+1", 1e-9},
                                     {"-5", std::monostate()},
                                     {"@x,y", 3.0}}};
  EXPECT_EQ(RenderCsv(table),
            "name,x\n"
            "plain,-3\n"
            "\"a,\"\"b\"\"\nc\",-0.1\n"
            "'=1+1,1e-09\n"
            "'-5,\n"
            "\"'@x,y\",3\n");
}

TEST(RenderQueryTable, NumbersStandAtTheRight) {
  const QueryTable table = {.columns = {"name", "value"},
                            .rows = {{"RoPE", 1.5}, {std::monostate(), int64_t{12}}}};
  EXPECT_EQ(RenderQueryTable(table, OutputFormat::kTable, 0),
            "name  value\n"
            "----  -----\n"
            "RoPE    1.5\n"
            "NULL     12\n");
  EXPECT_EQ(RenderQueryTable(table, OutputFormat::kJson, 0),
            "{\"columns\":[\"name\",\"value\"],\"rows\":[[\"RoPE\",1.5],[null,12]]}\n");
  EXPECT_EQ(RenderQueryTable({.columns = {"a"}, .rows = {}}, OutputFormat::kTable, 0), "a\n-\n");
}

}  // namespace
}  // namespace gyre
