#include "sweeps/spec/source_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace gyre {
namespace {

constexpr size_t kLongestQuote = 80;

// Bytes of the valid UTF-8 sequence at the front, or 0: no overlong forms, no surrogates, at most
// U+10FFFF.
size_t ValidSequence(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const auto continued = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continued(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continued(1) || !continued(2)) return 0;
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    return first == 0xED && byte(1) > 0x9F ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continued(1) || !continued(2) || !continued(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    return first == 0xF4 && byte(1) > 0x8F ? 0 : 4;
  }
  return 0;
}

bool IsWide(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range kWide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                             {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                             {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F},
                             {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  return std::any_of(std::begin(kWide), std::end(kWide), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

bool IsCombining(char32_t code) {
  return (code >= 0x0300 && code <= 0x036F) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0xFE00 && code <= 0xFE0F);
}

std::string Hex(unsigned value) {
  char text[16];
  std::snprintf(text, sizeof(text), "%02X", value);
  return text;
}

}  // namespace

SourceText::SourceText(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  text_.reserve(text.size());
  line_begins_.push_back(0);
  for (size_t i = 0; i < text.size(); ++i) {
    const bool end = text[i] == '\n' || text[i] == '\r';
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    text_.push_back(end ? '\n' : text[i]);
    if (end) line_begins_.push_back(text_.size());
  }
}

std::string_view SourceText::Line(int number) const {
  if (number < 1 || number > lines()) return {};
  const size_t begin = line_begins_[number - 1];
  const size_t end = number < lines() ? line_begins_[number] - 1 : text_.size();
  return std::string_view(text_).substr(begin, end - begin);
}

std::string_view SourceText::From(const TextPlace& place) const {
  if (place.line < 1 || place.line > lines()) return {};
  return std::string_view(text_).substr(
      std::min(line_begins_[place.line - 1] + place.column, text_.size()));
}

bool SourceText::IndentedByTab(int line) const {
  const std::string_view text = Line(line);
  const size_t content = text.find_first_not_of(" \t");
  return content != std::string_view::npos &&
         text.substr(0, content).find('\t') != std::string_view::npos;
}

std::optional<EncodingFault> FindEncodingFault(const SourceText& source) {
  if (source.text().starts_with("\xFF\xFE") || source.text().starts_with("\xFE\xFF")) {
    return EncodingFault{{1, 0, 1}, "the file is UTF-16, not UTF-8", "save it as UTF-8"};
  }
  for (int number = 1; number <= source.lines(); ++number) {
    const std::string_view line = source.Line(number);
    for (size_t i = 0; i < line.size();) {
      const size_t bytes = ValidSequence(line.substr(i));
      const unsigned byte = static_cast<uint8_t>(line[i]);
      const TextPlace place{number, static_cast<int>(i), 1};
      if (bytes == 0) {
        return EncodingFault{place, "the byte 0x" + Hex(byte) + " is not UTF-8",
                             "save the file as UTF-8"};
      }
      if (byte == 0)
        return EncodingFault{place, "the file is binary (it has a zero byte), not YAML", ""};
      if ((byte < 0x20 && byte != '\t') || byte == 0x7F) {
        return EncodingFault{
            place, "the control character 0x" + Hex(byte) + " is not allowed in YAML", "remove it"};
      }
      i += bytes;
    }
  }
  return std::nullopt;
}

Character FirstCharacter(std::string_view text) {
  if (text.empty()) return {};
  const size_t bytes = std::max<size_t>(ValidSequence(text), 1);
  if (bytes == 1) return {1, static_cast<uint8_t>(text[0])};
  char32_t code = static_cast<uint8_t>(text[0]) & (0xFF >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) code = (code << 6) | (static_cast<uint8_t>(text[i]) & 0x3F);
  return {bytes, code};
}

int CharactersIn(std::string_view text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

int ColumnsOf(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    width += IsCombining(character.code) ? 0 : IsWide(character.code) ? 2 : 1;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string Quoted(std::string_view text) { return "'" + Shown(text) + "'"; }

std::string Shown(std::string_view text) {
  std::string result;
  for (size_t shown = 0; !text.empty(); ++shown) {
    if (shown == kLongestQuote) {
      result += "…";
      break;
    }
    const Character character = FirstCharacter(text);
    const bool control = character.code < 0x20 ||
                         (character.code >= 0x7F && character.code < 0xA0) ||
                         (character.code >= 0x202A && character.code <= 0x202E);
    if (character.code == '\n') {
      result += "\\n";
    } else if (control) {
      result += "\\x" + Hex(character.code);
    } else {
      result += text.substr(0, character.bytes);
    }
    text.remove_prefix(character.bytes);
  }
  return result;
}

}  // namespace gyre
