#include "cli/text_width.h"

#include <gtest/gtest.h>

namespace gyre {
namespace {

TEST(TextWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("NoPE"), 4);
  EXPECT_EQ(DisplayWidth("θ=10k"), 5);
  EXPECT_EQ(DisplayWidth("日本語"), 6);
  EXPECT_EQ(DisplayWidth("кириллица"), 9);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);  // an accent of its own
}

TEST(TextWidth, ControlCharactersAndBrokenBytesBecomeVisible) {
  EXPECT_EQ(Visible("a\x1b[31mred"), "a\\x1b[31mred");
  EXPECT_EQ(Visible("two\nlines\tand a tab"), "two\\nlines\\tand a tab");
  EXPECT_EQ(Visible("broken \xff\xc3"), "broken \\xff\\xc3");
  EXPECT_EQ(Visible(std::string("nul\0l", 5)), "nul\\x00l");
  EXPECT_EQ(Visible("θ <b> «日本語»"), "θ <b> «日本語»");
}

TEST(TextWidth, ShortensByColumns) {
  EXPECT_EQ(Shorten("0.75-RoPE-reversed", 30), "0.75-RoPE-reversed");
  EXPECT_EQ(Shorten("0.75-RoPE-reversed", 10), "0.75-RoPE…");
  EXPECT_EQ(Shorten("日本語", 5), "日本…");
  EXPECT_EQ(Shorten("日本語", 4), "日…");
  EXPECT_EQ(Shorten("日本語", 0), "");
}

TEST(TextWidth, PadsToColumns) {
  EXPECT_EQ(PadRight("日本", 6), "日本  ");
  EXPECT_EQ(PadLeft("θ", 3), "  θ");
  EXPECT_EQ(PadLeft("long", 2), "long");
}

TEST(TextWidth, WrapsAtSpaces) {
  EXPECT_EQ(Wrap("one two three four", 9, 2), "one two\n  three\n  four");
  EXPECT_EQ(Wrap("averyveryverylongword and", 6, 0), "averyveryverylongword\nand");
  EXPECT_EQ(Wrap("one two", 0, 2), "one two");
  EXPECT_EQ(Wrap("", 10, 2), "");
}

}  // namespace
}  // namespace gyre
