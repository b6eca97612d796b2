#include "sweeps/spec/source_text.h"

#include <gtest/gtest.h>

#include "sweeps/spec/faults.h"

namespace gyre {
namespace {

TEST(SourceTextTest, LineEndsAndByteOrderMark) {
  const SourceText source("\xEF\xBB\xBFone\r\ntwo\rthree\n\nfive");
  EXPECT_EQ(source.text(), "one\ntwo\nthree\n\nfive");
  EXPECT_EQ(source.lines(), 5);
  EXPECT_EQ(source.Line(1), "one");
  EXPECT_EQ(source.Line(3), "three");
  EXPECT_EQ(source.Line(4), "");
  EXPECT_EQ(source.Line(5), "five");
  EXPECT_EQ(source.Line(6), "");
  EXPECT_EQ(source.From({3, 2}), "ree\n\nfive");
}

TEST(SourceTextTest, EncodingFaultsAreNamedOnTheirLine) {
  const auto fault = [](const std::string& text) { return FindEncodingFault(SourceText(text)); };
  EXPECT_FALSE(fault("θ: 日本語 😀\n\ttab").has_value());
  EXPECT_EQ(fault("a\nb\xE9\n")->place, (TextPlace{2, 1, 1}));
  EXPECT_NE(fault("a\nb\xE9\n")->message.find("0xE9"), std::string::npos);
  EXPECT_NE(fault(std::string("a\0b", 3))->message.find("binary"), std::string::npos);
  EXPECT_NE(fault("\xFF\xFEs\0")->message.find("UTF-16"), std::string::npos);
  EXPECT_NE(fault("a\x1B[31m")->message.find("control"), std::string::npos);
  // Overlong, a surrogate, beyond U+10FFFF, cut off.
  for (const char* text : {"\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF5",
                           "\xE2\x82", "\x80"}) {
    EXPECT_TRUE(fault(text).has_value()) << text;
  }
}

TEST(QuotedTest, IsSafeToShow) {
  EXPECT_EQ(Quoted("θ=10k"), "'θ=10k'");
  EXPECT_EQ(Quoted("a\x1B[31m\nb"), "'a\\x1B[31m\\nb'");
  EXPECT_EQ(CharactersIn(Quoted(std::string(500, 'x'))), 83);
}

TEST(FormatDiagnosticTest, StandsUnderWhatIsMeant) {
  const SourceText source("a: 1\n\t日本: \"x\" # wide\n");
  Faults faults("f.yaml", &source);
  faults.Add({2, 9, 3}, "wrong", "right it");
  EXPECT_EQ(FormatDiagnostic(faults.Take().front()),
            "f.yaml:2:6: error: wrong\n"
            "    2 | \t日本: \"x\" # wide\n"
            "      | \t      ^~~\n"
            "      help: right it\n");
}

TEST(FormatDiagnosticTest, OfALongLineAPart) {
  const SourceText source(std::string(100000, ' ') + "here" + std::string(100000, '.'));
  Faults faults("f.yaml", &source);
  faults.Add({1, 100000, 4}, "wrong");
  const std::string text = FormatDiagnostic(faults.Take().front());
  EXPECT_LT(text.size(), 500u);
  EXPECT_NE(text.find("f.yaml:1:100001: error"), std::string::npos);
  EXPECT_NE(text.find("^~~~"), std::string::npos);
  // The caret stands below the word: both as far from the left.
  const size_t line = text.find('\n') + 1, below = text.find('\n', line) + 1;
  const std::string shown = text.substr(line, below - line);
  EXPECT_EQ(ColumnsOf(shown.substr(0, shown.find("here"))),
            static_cast<int>(text.find('^', below) - below));
}

TEST(FaultsTest, OnceAndInOrderOfPlace) {
  const SourceText source("aaa\nbbb\n");
  Faults faults("f", &source);
  faults.Add({2, 1, 1}, "second");
  faults.Add({1, 2, 1}, "first");
  faults.Add({2, 1, 1}, "second");
  faults.AddOnce({2, 1, 1}, "check", "seen with 1");
  faults.AddOnce({2, 1, 1}, "check", "seen with 2");
  const auto diagnostics = faults.Take();
  ASSERT_EQ(diagnostics.size(), 3u);
  EXPECT_EQ(diagnostics[0].message, "first");
  EXPECT_EQ(diagnostics[2].message, "seen with 1");
}

TEST(FaultsTest, BeyondAThousandOnlyTheirNumber) {
  const SourceText source("a\n");
  Faults faults("f", &source);
  for (int i = 0; i < 3000; ++i) faults.Add({1, 0, 1}, "fault " + std::to_string(i));
  const auto diagnostics = faults.Take();
  EXPECT_EQ(diagnostics.size(), 1001u);
  EXPECT_EQ(diagnostics.back().message, "and 2,000 more faults");
}

}  // namespace
}  // namespace gyre
