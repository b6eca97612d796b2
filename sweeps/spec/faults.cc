#include "sweeps/spec/faults.h"

#include <algorithm>

namespace gyre {
namespace {

constexpr size_t kMaxDiagnostics = 1000;
constexpr int kLongestExcerpt = 160;  // characters of the source line that are shown
constexpr int kExcerptBefore = 60;    // of them before the fault, in a longer line

// Bytes of the first `characters` characters.
size_t BytesOf(std::string_view text, int characters) {
  size_t bytes = 0;
  for (; characters > 0 && bytes < text.size(); --characters)
    bytes += FirstCharacter(text.substr(bytes)).bytes;
  return bytes;
}

// As many columns of nothing. Tabs stay tabs, so that what follows stands right whatever their
// width.
std::string Blank(std::string_view text) {
  std::string blank;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, FirstCharacter(text).bytes);
    blank += character == "\t" ? "\t" : std::string(ColumnsOf(character), ' ');
    text.remove_prefix(character.size());
  }
  return blank;
}

}  // namespace

void Faults::Add(const Place& place, const std::string& message, const std::string& help) {
  AddOnce(place, message, message, help);
}

void Faults::AddOnce(const Place& place, const std::string& check, const std::string& message,
                     const std::string& help) {
  if (!seen_.emplace(place.line, place.column, check).second) return;
  ++count_;
  if (diagnostics_.size() >= kMaxDiagnostics) return;
  Diagnostic diagnostic{
      .file = file_, .line = place.line, .message = message, .help = help, .source_line = ""};
  if (place.line > 0) {
    const std::string_view line = source_->Line(place.line);
    const std::string_view before = line.substr(0, std::min<size_t>(place.column, line.size()));
    diagnostic.column = CharactersIn(before) + 1;
    diagnostic.length = std::max(CharactersIn(line.substr(before.size(), place.length)), 1);
    if (CharactersIn(line) > kLongestExcerpt) {
      diagnostic.source_offset = std::max(diagnostic.column - 1 - kExcerptBefore, 0);
    }
    const std::string_view excerpt = line.substr(BytesOf(line, diagnostic.source_offset));
    diagnostic.source_line = excerpt.substr(0, BytesOf(excerpt, kLongestExcerpt));
  }
  diagnostics_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Faults::Take() {
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::tie(a.line, a.column) < std::tie(b.line, b.column);
                   });
  if (const int64_t more = count_ - static_cast<int64_t>(diagnostics_.size()); more > 0) {
    diagnostics_.push_back({.file = file_,
                            .message = "and " + WithSeparators(more) + " more faults",
                            .help = "",
                            .source_line = ""});
  }
  return std::move(diagnostics_);
}

std::string FormatDiagnostic(const Diagnostic& diagnostic) {
  const std::string place = diagnostic.line == 0 ? ""
                                                 : ":" + std::to_string(diagnostic.line) + ":" +
                                                       std::to_string(diagnostic.column);
  std::string text = diagnostic.file + place + ": error: " + diagnostic.message + "\n";
  if (diagnostic.line > 0) {
    const std::string& line = diagnostic.source_line;
    const size_t begin = BytesOf(line, diagnostic.column - 1 - diagnostic.source_offset);
    const std::string_view marked(line.data() + begin,
                                  BytesOf(line.substr(begin), diagnostic.length));
    std::string number = std::to_string(diagnostic.line);
    if (number.size() < 5) number.insert(0, 5 - number.size(), ' ');
    const std::string shown = diagnostic.source_offset > 0 ? "…" : "";
    text += number + " | " + shown + line + "\n" + std::string(number.size(), ' ') + " | ";
    text += Blank(shown) + Blank(std::string_view(line).substr(0, begin)) + "^";
    text += std::string(std::max(ColumnsOf(marked), 1) - 1, '~') + "\n";
  }
  if (!diagnostic.help.empty()) text += "      help: " + diagnostic.help + "\n";
  return text;
}

std::string WithSeparators(uint64_t number) {
  std::string text = std::to_string(number);
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3) text.insert(i, ",");
  return text;
}

}  // namespace gyre
