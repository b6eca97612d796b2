#include "results/plots/gnuplot_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <sstream>

namespace gyre {
namespace {

/// The bytes of the UTF-8 character at the front; 0 if it is none.
size_t CharacterLength(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text.front());
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length == 0 || lead > 0xF4 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<uint8_t>(text[i]) & 0xC0) != 0x80) return 0;
  }
  return length;
}

/// Characters one by one, each clean.
std::vector<std::string> Characters(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    const auto byte = static_cast<uint8_t>(text.front());
    if (length == 0) {
      characters.emplace_back("?");
    } else if (byte < 0x20 || byte == 0x7F || (byte == 0xC2 && (text[1] & 0xE0) == 0x80)) {
      characters.emplace_back(" ");
    } else {
      characters.emplace_back(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return characters;
}

bool IsPlain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view(" .,:;+-*/=()<>[]|~!?&%#_^{}").find(c) != std::string_view::npos;
}

/// In units of the font's size, for a font like Helvetica or DejaVu Sans (the wider counts).
double CharacterWidth(const std::string& character) {
  if (character.size() >= 3) return 1.0;  // CJK and the like
  const char c = character.front();
  if (std::string_view("il.,:;'|!jtfI()[] ").find(c) != std::string_view::npos) return 0.36;
  if (std::string_view("mwMW%@").find(c) != std::string_view::npos) return 0.92;
  if (c >= 'A' && c <= 'Z') return 0.69;
  return 0.61;
}

}  // namespace

std::string GnuplotText(std::string_view text) {
  std::string quoted = "\"";
  for (const std::string& character : Characters(text)) {
    const auto byte = static_cast<uint8_t>(character.front());
    if (byte >= 0x80 || IsPlain(character.front())) {
      quoted += character;
    } else {
      quoted += '\\';
      for (const int shift : {6, 3, 0}) quoted += static_cast<char>('0' + ((byte >> shift) & 7));
    }
  }
  return quoted + "\"";
}

std::string GnuplotTic(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? std::string("%%") : std::string(1, c);
  return GnuplotText(doubled);
}

std::string GnuplotNumber(double value) {
  if (!std::isfinite(value)) return "NaN";
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return {buffer, result.ptr};
}

double TextWidth(std::string_view text, double font_size) {
  double width = 0;
  for (const std::string& character : Characters(text)) width += CharacterWidth(character);
  return width * font_size;
}

std::string FitText(std::string_view text, double width, double font_size) {
  if (TextWidth(text, font_size) <= width) return std::string(text);
  std::string fitting;
  double used = TextWidth("…", font_size);
  for (const std::string& character : Characters(text)) {
    used += CharacterWidth(character) * font_size;
    if (used > width) break;
    fitting += character;
  }
  return fitting + "…";
}

std::vector<std::string> WrapText(std::string_view text, double width, double font_size,
                                  int max_lines) {
  std::vector<std::string> lines;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const bool fits = !lines.empty() && TextWidth(lines.back() + " " + word, font_size) <= width;
    const bool full = static_cast<int>(lines.size()) == max_lines;
    if (fits || full) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  for (std::string& line : lines) line = FitText(line, width, font_size);
  return lines;
}

}  // namespace gyre
