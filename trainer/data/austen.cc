#include "trainer/data/austen.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "trainer/data/rdata.h"

namespace gyre {
namespace {

std::string Upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "CHAPTER XIV" or "Chapter 14", alone on its line.
bool IsHeading(std::string_view line, std::string_view word) {
  line = Trimmed(line);
  if (Upper(line.substr(0, word.size())) != word) return false;
  const std::string_view number = Trimmed(line.substr(word.size()));
  return line.size() > word.size() && line[word.size()] == ' ' && !number.empty() &&
         number.find_first_not_of("IVXLC0123456789.") == std::string_view::npos;
}

bool IsTitle(const std::vector<std::string>& lines, std::string_view title) {
  for (const std::string& line : lines) {
    if (!Trimmed(line).empty()) return Upper(Trimmed(line)) == title;
  }
  return false;
}

}  // namespace

std::vector<std::string> Chapters(const std::vector<std::string>& lines) {
  std::vector<size_t> starts;  // of chapters after the first
  bool first = true;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!IsHeading(lines[i], "CHAPTER")) continue;
    if (!std::exchange(first, false)) {
      size_t start = i;
      while (start > 0 && Trimmed(lines[start - 1]).empty()) --start;
      starts.push_back(start > 0 && IsHeading(lines[start - 1], "VOLUME") ? start - 1 : i);
    }
  }
  std::vector<std::string> chapters(1);
  for (size_t i = 0, next = 0; i < lines.size(); ++i) {
    if (next < starts.size() && starts[next] == i) {
      chapters.emplace_back();
      ++next;
    }
    chapters.back() += lines[i];
    if (i + 1 < lines.size()) chapters.back() += '\n';
  }
  return chapters;
}

Result<CorpusText> AustenText(std::string_view rdb) {
  GYRE_ASSIGN_OR_RETURN(const auto novels, ReadRdataStrings(rdb));
  CorpusText text;
  for (const std::vector<std::string>& novel : novels) {
    auto& part = IsTitle(novel, "PERSUASION") ? text.validation : text.train;
    for (std::string& chapter : Chapters(novel)) part.push_back(std::move(chapter));
  }
  if (text.train.empty() || text.validation.empty()) {
    return DataLoss("these are not Jane Austen's novels: Persuasion and others are wanted");
  }
  return text;
}

}  // namespace gyre
