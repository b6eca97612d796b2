// docs/sweeps.md has every key of the table of fields, as the table has it (UPDATE_GOLDEN=1
// rewrites its tables), and its examples are right.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sweeps/sweep_text.h"
#include "trainer/config/fields.h"

namespace gyre {
namespace {

constexpr char kPath[] = "docs/sweeps.md";

std::string SectionOf(const Field& field) {
  if (field.scope == FieldScope::kSweep) return "sweep";
  if (field.scope == FieldScope::kHuggingFace) return "hugging-face";
  return std::string(field.path.substr(0, field.path.find('.')));
}

std::string Cell(std::string text) {
  for (size_t bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar + 2))
    text.replace(bar, 1, "\\|");
  return text;
}

std::string Support(const Field& field) {
  if (field.later == "*") return "not yet";
  std::string list;
  for (const std::string& word : Words(field.later))
    list += (list.empty() ? "not yet: " : ", ") + word;
  return list.empty() ? "" : list;
}

std::string TableOf(const std::string& section) {
  const bool spelling = section == "hugging-face";
  std::string table =
      spelling ? "| key | takes | means | |\n| --- | --- | --- | --- |\n"
               : "| key | takes | default | meaning | |\n| --- | --- | --- | --- | --- |\n";
  for (const Field& field : AllFields()) {
    if (SectionOf(field) != section) continue;
    const bool described = field.kind == FieldKind::kAny;
    table += "| `" + std::string(field.path) + "` | " +
             (described ? "" : Cell(DescribeType(field))) + " | ";
    if (!spelling) table += Cell(std::string(field.default_text)) + " | ";
    table += Cell(std::string(field.meaning)) + " | " + Support(field) + " |\n";
  }
  return table;
}

// The text with the part between each pair of marks made anew.
std::string WithTables(std::string text) {
  const std::string begin_mark = "<!-- fields: ";
  for (size_t mark = text.find(begin_mark); mark != std::string::npos;
       mark = text.find(begin_mark, mark + 1)) {
    const size_t name = mark + begin_mark.size();
    const size_t begin = text.find('\n', mark) + 1, end = text.find("<!-- end -->", mark);
    const std::string section = text.substr(name, text.find(" -->", name) - name);
    text.replace(begin, end - begin, TableOf(section));
  }
  return text;
}

TEST(DocsTest, TablesAreThoseOfTheCode) {
  const auto text = ReadFile(kPath);
  ASSERT_TRUE(text.ok()) << text.status();
  CompareWithGolden(kPath, WithTables(*text));
}

TEST(DocsTest, EveryKeyIsThere) {
  const auto text = ReadFile(kPath);
  ASSERT_TRUE(text.ok()) << text.status();
  for (const Field& field : AllFields()) {
    EXPECT_NE(text->find("| `" + std::string(field.path) + "` |"), std::string::npos) << field.path;
  }
}

TEST(DocsTest, ExamplesAreRight) {
  const auto text = ReadFile(kPath);
  ASSERT_TRUE(text.ok()) << text.status();
  int examples = 0;
  for (size_t at = text->find("```yaml\n"); at != std::string::npos;
       at = text->find("```yaml\n", at + 1)) {
    const size_t begin = at + 8;
    EXPECT_EQ(Diagnostics(Parse(text->substr(begin, text->find("```", begin) - begin))), "");
    ++examples;
  }
  EXPECT_GE(examples, 2);
}

}  // namespace
}  // namespace gyre
