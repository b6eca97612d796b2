#include "cli/output_report.h"

#include <gmock/gmock.h>

#include "tests/cli/golden.h"

namespace gyre {
namespace {

using testing::HasSubstr;
using testing::Not;

Report Example() {
  Report report;
  report.program = "0.1.0";
  report.facts.sweep = "tiny";
  report.facts.description = "Two encodings";
  report.facts.question = "Which one?";
  report.facts.yaml = "sweep: tiny\n";
  report.facts.file = "tiny.yaml";
  report.facts.submitted_at = "2026-01-02T03:04:05.678Z";
  report.facts.ended_at = "2026-01-02T03:05:05.678Z";
  report.facts.database = "0123456789abcdef";
  report.facts.jobs = 3;
  report.facts.states = {{"SUCCEEDED", 2}, {"STOPPED_EARLY", 1}};
  report.facts.variants = {{"variant", "position.type", "tokens"},
                           {{"RoPE", "rope", int64_t{1000}}, {"NoPE", "nope", int64_t{1000}}}};
  report.facts.common = "{}";
  report.comparisons = {{"austen/perplexity",
                         {{{"variant"}, {"n", true}}, {{"RoPE", "2"}}},
                         {"The data cannot tell."},
                         {"NoPE: 1 of 2 seeds"}}};
  report.figures = {{"A curve", "<svg/>", "x,y\n1,2\n", "tiny-curve.csv", {"3 seeds"}}};
  report.left_out = {"grid: one theta only"};
  return report;
}

TEST(RenderReport, Page) { ExpectGolden("report.html", RenderReport(Example())); }

TEST(RenderReport, ShowsWhateverUsersWroteAsText) {
  const std::string evil = "\"><script>alert('x')</script>";
  Report report = Example();
  report.facts.sweep = report.facts.description = report.facts.question = evil;
  report.facts.yaml = report.facts.file = report.facts.submitted_by = report.facts.common = evil;
  report.facts.variants = report.facts.texts = report.facts.machines =
      report.facts.failures = {{evil}, {{evil}}};
  report.comparisons = {{evil, {{{evil}}, {{evil}}}, {evil}, {evil}}};
  report.figures = {{evil, evil, evil, evil, {evil}}};
  report.left_out = {evil};
  const std::string page = RenderReport(report);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\"\">")));
  EXPECT_THAT(page, HasSubstr("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(RenderReport, NothingRunYet) {
  Report report;
  report.facts.sweep = "empty";
  const std::string page = RenderReport(report);
  EXPECT_THAT(page, HasSubstr("0 jobs"));
  EXPECT_THAT(page, HasSubstr("No job has succeeded."));
}

TEST(EscapeHtml, TextThatIsNone) {
  EXPECT_EQ(EscapeHtml("θ = 10k"), "θ = 10k");
  EXPECT_EQ(EscapeHtml("a\x1b[2Jb"), "a\xef\xbf\xbd[2Jb");
  EXPECT_EQ(EscapeHtml("\xff\xc3"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(EscapeHtml("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate
  EXPECT_EQ(EscapeHtml("\xc0\xbc"), "\xef\xbf\xbd\xef\xbf\xbd");                  // an overlong <
  EXPECT_EQ(EscapeHtml("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
}

}  // namespace
}  // namespace gyre
