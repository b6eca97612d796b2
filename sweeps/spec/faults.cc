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

// Bytes of the last `characters` characters.
size_t BytesAtEnd(std::string_view text, int characters) {
  size_t begin = text.size();
  while (begin > 0 && characters > 0) {
    --begin;
    if ((static_cast<unsigned char>(text[begin]) & 0xC0) != 0x80) --characters;
  }
  return text.size() - begin;
}

// The text with a replacement character for what a terminal could take for a command or cannot
// show.
std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    const bool control = character.code < 0x20 || (character.code >= 0x7F && character.code < 0xA0);
    const bool broken = character.bytes == 1 && character.code >= 0x80;
    const bool shown = text[0] == '\t' || !(control || broken);
    printable += shown ? text.substr(0, character.bytes) : std::string_view("\uFFFD");
    text.remove_prefix(character.bytes);
  }
  return printable;
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

void Faults::Add(const TextPlace& place, const std::string& message, const std::string& help) {
  AddOnce(place, message, message, help);
}

void Faults::AddOnce(const TextPlace& place, const std::string& check, const std::string& message,
                     const std::string& help) {
  if (!seen_.emplace(place.file, place.line, place.column, check).second) return;
  ++count_;
  if (diagnostics_.size() >= kMaxDiagnostics) return;
  Diagnostic diagnostic{.file = files_[place.file].name,
                        .line = place.line,
                        .message = message,
                        .help = help,
                        .source_line = ""};
  if (place.line > 0) {
    const std::string_view line = files_[place.file].source->Line(place.line);
    const std::string_view before = line.substr(0, std::min<size_t>(place.column, line.size()));
    diagnostic.column = CharactersIn(before) + 1;
    diagnostic.length = std::max(CharactersIn(line.substr(before.size(), place.length)), 1);
    // A line may have megabytes: what is shown is found from the fault, not from the line's begin.
    const bool is_long = line.size() > 4 * kLongestExcerpt || CharactersIn(line) > kLongestExcerpt;
    const int shown_before =
        std::min(diagnostic.column - 1, is_long ? kExcerptBefore : kLongestExcerpt);
    diagnostic.source_offset = diagnostic.column - 1 - shown_before;
    const std::string_view excerpt = line.substr(before.size() - BytesAtEnd(before, shown_before));
    diagnostic.source_line = Printable(excerpt.substr(0, BytesOf(excerpt, kLongestExcerpt)));
  }
  diagnostics_.push_back({place.file, std::move(diagnostic)});
}

std::vector<Diagnostic> Faults::Take() {
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.file, a.diagnostic.line, a.diagnostic.column) <
           std::tie(b.file, b.diagnostic.line, b.diagnostic.column);
  });
  std::vector<Diagnostic> taken;
  for (Placed& placed : diagnostics_) taken.push_back(std::move(placed.diagnostic));
  if (const int64_t more = count_ - static_cast<int64_t>(taken.size()); more > 0) {
    taken.push_back({.file = files_[0].name,
                     .message = "and " + WithSeparators(more) + " more faults",
                     .help = "",
                     .source_line = ""});
  }
  return taken;
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
