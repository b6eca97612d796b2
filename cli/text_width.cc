#include "cli/text_width.h"

#include <locale.h>
#include <wchar.h>

#include <array>
#include <cstdio>

namespace gyre {
namespace {

/// The C library knows the width of every character, but only in a UTF-8 locale, which the user may
/// not have: this thread gets C.UTF-8 as long as the object lives.
class Utf8Locale {
 public:
  Utf8Locale() : previous_(uselocale(Utf8())) {}
  ~Utf8Locale() { uselocale(previous_); }
  Utf8Locale(const Utf8Locale&) = delete;
  Utf8Locale& operator=(const Utf8Locale&) = delete;

 private:
  static locale_t Utf8() {
    static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return locale;
  }
  locale_t previous_;
};

struct Character {
  std::string_view bytes;
  int width = 1;
  bool printable = true;
};

/// The first character of a text that is not empty. A byte that begins no character stands alone.
Character FirstCharacter(std::string_view text) {
  mbstate_t state{};
  wchar_t wide = 0;
  const size_t length = mbrtowc(&wide, text.data(), text.size(), &state);
  if (length == 0 || length > text.size()) return {text.substr(0, 1), 1, false};
  const int width = wcwidth(wide);
  return {text.substr(0, length), width < 0 ? 1 : width, width >= 0};
}

}  // namespace

std::string Visible(std::string_view text) {
  const Utf8Locale locale;
  std::string visible;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    text.remove_prefix(character.bytes.size());
    if (character.printable) {
      visible += character.bytes;
      continue;
    }
    for (const char byte : character.bytes) {
      std::array<char, 5> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned char>(byte));
      visible += byte == '\n' ? "\\n" : byte == '\t' ? "\\t" : escape.data();
    }
  }
  return visible;
}

int DisplayWidth(std::string_view text) {
  const Utf8Locale locale;
  int width = 0;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    text.remove_prefix(character.bytes.size());
    width += character.width;
  }
  return width;
}

std::string Shorten(std::string_view text, int width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const Utf8Locale locale;
  std::string shortened;
  int used = 0;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (used + character.width > width - 1) break;
    used += character.width;
    shortened += character.bytes;
    text.remove_prefix(character.bytes.size());
  }
  return width > 0 ? shortened + "…" : "";
}

std::string PadRight(std::string text, int width) {
  const int missing = width - DisplayWidth(text);
  return missing > 0 ? text.append(static_cast<size_t>(missing), ' ') : text;
}

std::string PadLeft(std::string text, int width) {
  const int missing = width - DisplayWidth(text);
  return missing > 0 ? text.insert(0, static_cast<size_t>(missing), ' ') : text;
}

std::string Wrap(std::string_view text, int width, int indent) {
  if (width <= 0) return std::string(text);
  std::string wrapped;
  int used = 0;
  bool line_is_empty = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
    const int word_width = DisplayWidth(word);
    if (!line_is_empty && used + 1 + word_width > width) {
      wrapped += '\n' + std::string(static_cast<size_t>(indent), ' ');
      used = indent;
      line_is_empty = true;
    }
    if (!line_is_empty) wrapped += ' ';
    used += word_width + (line_is_empty ? 0 : 1);
    wrapped += word;
    line_is_empty = false;
  }
  return wrapped;
}

}  // namespace gyre
