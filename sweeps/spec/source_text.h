#pragma once

// The text of a sweep file as people see it: lines from 1, columns in characters, without byte
// order mark and with
// '\n' for every line end. Immutable.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

/// A place in a SourceText: line from 1 (0 = the file as a whole), column and length in bytes, from
/// 0; and which of the files that belong together has it, 0 = the one that was named.
struct TextPlace {
  int line = 0;
  int column = 0;
  int length = 1;
  int file = 0;
  friend auto operator<=>(const TextPlace&, const TextPlace&) = default;
};

class SourceText {
 public:
  explicit SourceText(std::string_view text);

  const std::string& text() const { return text_; }
  /// A line without its end; empty for lines that there are not.
  std::string_view Line(int number) const;
  int lines() const { return static_cast<int>(line_begins_.size()); }
  /// What follows the place, to the end of the text.
  std::string_view From(const TextPlace& place) const;
  /// True if the line's indentation has a tab.
  bool IndentedByTab(int line) const;

 private:
  std::string text_;
  std::vector<size_t> line_begins_;
};

/// The first reason for which the text cannot be YAML at all: not UTF-8, binary, control
/// characters.
struct EncodingFault {
  TextPlace place;
  std::string message, help;
};
std::optional<EncodingFault> FindEncodingFault(const SourceText& source);

/// Characters in UTF-8 text.
int CharactersIn(std::string_view text);

/// Columns that the text takes on a terminal; East Asian wide characters and emoji take two.
int ColumnsOf(std::string_view text);

/// The character at the front of valid UTF-8 text: its bytes and its code point.
struct Character {
  size_t bytes = 0;
  char32_t code = 0;
};
Character FirstCharacter(std::string_view text);

/// 'text', with control characters made visible and the middle of long texts left out: safe to
/// show.
std::string Quoted(std::string_view text);
/// The same without the quotes.
std::string Shown(std::string_view text);

}  // namespace gyre
