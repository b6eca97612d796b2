#include "results/failure_groups.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace gyre {
namespace {

constexpr size_t kCompared = 300;  // characters: what comes later tells little

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

/// A number, or a word with a digit in it that is long enough to be a name made by a program.
bool IsNumberOrHash(std::string_view word) {
  if (std::none_of(word.begin(), word.end(), IsDigit)) return false;
  return word.size() >= 8 || IsDigit(word.front());
}

}  // namespace

std::string AlikeError(std::string_view error) {
  std::string_view line = FirstLine(error).substr(0, kCompared);
  std::string alike;
  while (!line.empty()) {
    const size_t length =
        static_cast<size_t>(std::find_if_not(line.begin(), line.end(), IsWord) - line.begin());
    if (length == 0) {
      alike += line.front();
      line.remove_prefix(1);
      continue;
    }
    const std::string_view word = line.substr(0, length);
    if (IsNumberOrHash(word)) {
      alike += '#';
    } else {
      alike += word;
    }
    line.remove_prefix(length);
  }
  return alike;
}

std::vector<FailureGroup> GroupFailures(const std::vector<FailedJobStatus>& failures) {
  std::vector<FailureGroup> groups;
  std::map<std::string, size_t> places;
  for (const FailedJobStatus& job : failures) {
    const auto [place, is_new] = places.try_emplace(AlikeError(job.error), groups.size());
    if (is_new) groups.push_back({std::string(FirstLine(job.error)), {}});
    groups[place->second].jobs.push_back(job);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const FailureGroup& a, const FailureGroup& b) {
    return a.jobs.size() > b.jobs.size();
  });
  return groups;
}

}  // namespace gyre
