// Every file in tests/sweeps/cases behaves as its first comments say (cases/README.md), and its
// diagnostics or plan are those in tests/sweeps/golden (UPDATE_GOLDEN=1 rewrites them).

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "base/files.h"
#include "sweeps/spec/sweep_spec.h"
#include "tests/sweeps/sweep_text.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

struct Expectation {
  int jobs = -1;                                    // "ok N"
  std::vector<std::pair<int, std::string>> errors;  // line (0 = any) and words
};

Expectation ReadExpectation(const std::string& text) {
  Expectation expected;
  std::istringstream lines(text);
  const std::regex ok("^# ok ([0-9]+).*"), error("^# error ([0-9]+|any): (.*)$");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (line.ends_with('\r')) line.pop_back();
    if (!line.starts_with('#')) break;
    std::smatch match;
    if (std::regex_match(line, match, ok)) expected.jobs = std::stoi(match[1]);
    if (std::regex_match(line, match, error)) {
      expected.errors.emplace_back(match[1] == "any" ? 0 : std::stoi(match[1]),
                                   match[2] == "any" ? "" : match[2].str());
    }
  }
  return expected;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

class CaseTest : public testing::TestWithParam<std::string> {};

TEST_P(CaseTest, BehavesAsItSays) {
  const fs::path file = fs::path("tests/sweeps/cases") / GetParam();
  const auto text = ReadFile(file);
  ASSERT_TRUE(text.ok()) << text.status();
  const Expectation expected = ReadExpectation(*text);
  ASSERT_TRUE(expected.jobs >= 0 || !expected.errors.empty()) << "the first comment says nothing";
  const ParsedSweeps parsed = ParseSweeps(*text, TestOptions(GetParam()));
  const std::string shown = Describe(parsed);
  CompareWithGolden(fs::path("tests/sweeps/golden") / (file.stem().string() + ".txt"), shown);

  if (expected.jobs >= 0) {
    ASSERT_TRUE(parsed.diagnostics.empty()) << shown;
    EXPECT_EQ(UniqueJobs(parsed), expected.jobs) << shown;
    return;
  }
  EXPECT_TRUE(parsed.sweeps.empty());
  ASSERT_FALSE(parsed.diagnostics.empty());
  for (const auto& [line, words] : expected.errors) {
    const bool found =
        std::any_of(parsed.diagnostics.begin(), parsed.diagnostics.end(), [&](const Diagnostic& d) {
          return (line == 0 || d.line == line) &&
                 Lower(d.message + " " + d.help).find(Lower(words)) != std::string::npos;
        });
    EXPECT_TRUE(found) << "line " << line << ": " << words << "\n" << shown;
  }
}

std::vector<std::string> CaseFiles() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator("tests/sweeps/cases")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

INSTANTIATE_TEST_SUITE_P(Cases, CaseTest, testing::ValuesIn(CaseFiles()), [](const auto& info) {
  std::string name = fs::path(info.param).stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

}  // namespace
}  // namespace gyre
