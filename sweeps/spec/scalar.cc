#include "sweeps/spec/scalar.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "sweeps/spec/source_text.h"

namespace gyre {
namespace {

using Unit = std::pair<std::string_view, double>;

constexpr Unit kCountUnits[] = {
    {"", 1},     {"k", 1e3},     {"K", 1e3},        {"M", 1e6},           {"G", 1e9},
    {"T", 1e12}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
    {"%", 0.01}};
constexpr Unit kTimeUnits[] = {{"ms", 1}, {"s", 1e3}, {"m", 6e4}, {"h", 3.6e6}, {"d", 8.64e7}};
constexpr Unit kSizeUnits[] = {{"B", 1},
                               {"kB", 1e3},
                               {"KB", 1e3},
                               {"MB", 1e6},
                               {"GB", 1e9},
                               {"TB", 1e12},
                               {"KiB", 1024.0},
                               {"MiB", 1048576.0},
                               {"GiB", 1073741824.0},
                               {"TiB", 1099511627776.0}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsBooleanWord(std::string_view text) {
  for (const char* word : {"yes", "no", "on", "off", "true", "false"}) {
    if (Lower(text) == word) return true;
  }
  return false;
}

std::string_view WithoutSign(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  return text;
}

// 1:30, 190:20:30.15: base sixty in YAML 1.1.
bool IsSexagesimal(std::string_view text) {
  text = WithoutSign(text);
  if (text.empty() || !IsDigit(text[0]) || text.find(':') == std::string_view::npos) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsDigit(c) || c == ':' || c == '.' || c == '_'; });
}

bool HasLeadingZero(std::string_view text) {
  text = WithoutSign(text);
  return text.size() > 1 && text[0] == '0' && (IsDigit(text[1]) || text[1] == '_');
}

// The decimal at the front of `text`, as text that from_chars reads; empty if there is none.
// Underscores only between digits. `rest` gets what follows.
std::string TakeDecimal(std::string_view text, std::string_view* rest) {
  std::string decimal;
  size_t i = 0, digits = 0;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) {
    if (text[i] == '-') decimal += '-';
    ++i;
  }
  const auto take_digits = [&] {
    for (; i < text.size(); ++i) {
      const bool between = text[i] == '_' && i > 0 && IsDigit(text[i - 1]) && i + 1 < text.size() &&
                           IsDigit(text[i + 1]);
      if (IsDigit(text[i])) {
        decimal += text[i];
        ++digits;
      } else if (!between) {
        break;
      }
    }
  };
  take_digits();
  if (i < text.size() && text[i] == '.') {
    decimal += '.';
    ++i;
    take_digits();
  }
  if (digits == 0) return "";
  // An exponent needs digits; else the 'e' belongs to what follows.
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    size_t j = i + 1;
    if (j < text.size() && (text[j] == '+' || text[j] == '-')) ++j;
    if (j < text.size() && IsDigit(text[j])) {
      decimal += 'e';
      if (text[i + 1] == '-') decimal += '-';
      for (; j < text.size() && IsDigit(text[j]); ++j) decimal += text[j];
      i = j;
    }
  }
  *rest = text.substr(i);
  return decimal;
}

// decimal * unit, rounded once: a power of ten goes into the exponent, since 1.1 * 1e6 is not
// 1100000 in binary.
double Scaled(const std::string& decimal, double unit) {
  const int tens = unit < 1 ? -2 : static_cast<int>(std::lround(std::log10(unit)));
  const bool is_power_of_ten = unit < 1 || std::pow(10.0, tens) == unit;
  std::string text = decimal;
  if (is_power_of_ten && tens != 0) {
    const size_t e = text.find('e');
    int exponent = 0;
    if (e != std::string::npos) {
      const auto [end, error] =
          std::from_chars(text.data() + e + 1, text.data() + text.size(), exponent);
      exponent = error == std::errc() ? std::clamp(exponent, -100000, 100000)
                 : text[e + 1] == '-' ? -100000
                                      : 100000;
      text.resize(e);
    }
    text += "e" + std::to_string(exponent + tens);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Beyond the range of a double either way: whether it is too small shows in the sign of the
    // exponent.
    const size_t e = text.find("e-");
    return e == std::string::npos ? HUGE_VAL : 0;
  }
  return is_power_of_ten ? value : value * unit;
}

std::optional<int64_t> Whole(double value) {
  if (std::trunc(value) != value || std::fabs(value) >= 9.2e18) return std::nullopt;
  return static_cast<int64_t>(value);
}

// Plain digits are read as such: a double has 53 bits, a seed 63.
std::optional<int64_t> WholeDigits(const std::string& decimal) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  if (error != std::errc() || end != decimal.data() + decimal.size()) return std::nullopt;
  return value;
}

std::optional<Complaint> NumberSurprise(std::string_view text, std::string_view wanted) {
  if (text.empty()) return Complaint{"must be " + std::string(wanted) + ", and is empty text", ""};
  const std::string start = "must be " + std::string(wanted) + ", and is ";
  if (IsSexagesimal(text)) {
    return Complaint{start + std::string(text) + ", which YAML 1.1 reads in base sixty",
                     "write the number itself"};
  }
  if (HasLeadingZero(text)) {
    return Complaint{start + std::string(text) + ", which YAML 1.1 reads in base eight",
                     "leave out the leading zero"};
  }
  const std::string lower = Lower(WithoutSign(text));
  if (lower.starts_with("0x") || lower.starts_with("0o") || lower.starts_with("0b")) {
    return Complaint{start + Quoted(text), "write it in decimal"};
  }
  if (lower == "nan" || lower == ".nan" || lower == "inf" || lower == ".inf" ||
      lower == "infinity") {
    return Complaint{"must be finite, and is " + std::string(text), ""};
  }
  if (IsBooleanWord(text)) return Complaint{start + Quoted(text) + ", a boolean", ""};
  return std::nullopt;
}

Reading<int64_t> ReadWithUnits(std::string_view text, std::span<const Unit> units,
                               const std::string& wanted) {
  std::string_view unit;
  const std::string decimal = TakeDecimal(text, &unit);
  if (const auto surprise = NumberSurprise(text, wanted); surprise && !decimal.empty())
    return {{}, *surprise};
  const auto found = std::find_if(units.begin(), units.end(),
                                  [unit](const Unit& known) { return known.first == unit; });
  if (decimal.empty() || found == units.end()) {
    const bool bare = !decimal.empty() && unit.empty();
    return {{}, {"must be " + wanted + ", and is " + Quoted(text), bare ? "add the unit" : ""}};
  }
  const double value = Scaled(decimal, found->second);
  if (value < 0) return {{}, {"must not be negative, and is " + std::string(text), ""}};
  if (!(value < 9e18)) return {{}, {"is too large: " + Quoted(text), ""}};
  return {static_cast<int64_t>(std::llround(value)), {}};
}

}  // namespace

Reading<Number> ReadNumber(std::string_view text, std::string_view wanted) {
  if (const auto surprise = NumberSurprise(text, wanted)) return {{}, *surprise};
  std::string_view suffix;
  const std::string decimal = TakeDecimal(text, &suffix);
  const auto unit = std::find_if(std::begin(kCountUnits), std::end(kCountUnits),
                                 [suffix](const Unit& known) { return known.first == suffix; });
  if (decimal.empty() || unit == std::end(kCountUnits)) {
    Complaint complaint{"must be " + std::string(wanted) + ", and is " + Quoted(text), ""};
    const std::string capital(1, static_cast<char>(std::toupper(static_cast<unsigned char>(
                                     suffix.empty() ? 'x' : suffix[0]))));
    if (suffix == "m" || suffix == "g" || suffix == "t") {
      complaint.help =
          "did you mean '" + std::string(text.substr(0, text.size() - 1)) + capital + "'?";
    } else if (!decimal.empty()) {
      complaint.help =
          "suffixes are k, M, G, T (powers of 1000) and Ki, Mi, Gi, Ti (powers of 1024)";
    }
    return {{}, complaint};
  }
  Number number{Scaled(decimal, unit->second), std::nullopt, suffix == "%"};
  if (!std::isfinite(number.value)) return {{}, {"must be finite, and is " + Quoted(text), ""}};
  number.whole = suffix.empty() ? WholeDigits(decimal) : std::nullopt;
  if (!number.whole) number.whole = Whole(number.value);
  return {number, {}};
}

Reading<int64_t> ReadTime(std::string_view text) {
  return ReadWithUnits(text, kTimeUnits, "a time such as 90s, 10m or 2h");
}

Reading<int64_t> ReadSize(std::string_view text) {
  return ReadWithUnits(text, kSizeUnits, "a size such as 512MiB or 4GiB");
}

Reading<bool> ReadBoolean(std::string_view text, bool quoted) {
  const std::string lower = Lower(text);
  const bool core =
      text == lower || text == "True" || text == "False" || text == "TRUE" || text == "FALSE";
  if (!quoted && core && lower == "true") return {true, {}};
  if (!quoted && core && lower == "false") return {false, {}};
  Complaint complaint{"must be true or false, and is " + Quoted(text), ""};
  const bool yes = lower == "yes" || lower == "on" || lower == "true" || lower == "1";
  const bool no = lower == "no" || lower == "off" || lower == "false" || lower == "0";
  if (yes || no)
    complaint.help =
        std::string("write ") + (yes ? "true" : "false") + (quoted ? ", without quotes" : "");
  return {{}, complaint};
}

std::optional<Complaint> SurpriseInYaml11(std::string_view text) {
  std::string meaning;
  if (IsBooleanWord(text)) meaning = "a boolean";
  if (IsSexagesimal(text)) meaning = "a number in base sixty";
  if (HasLeadingZero(text) &&
      std::all_of(text.begin() + 1, text.end(), [](char c) { return IsDigit(c) || c == '_'; })) {
    meaning = "a number in base eight";
  }
  if (meaning.empty()) return std::nullopt;
  return Complaint{
      "a plain " + std::string(text) + " is " + meaning + " to YAML 1.1 readers: quote it",
      "write \"" + std::string(text) + "\" if the name is meant"};
}

std::string FormatNumber(double value) {
  char text[64];
  const double size = std::fabs(value);
  const bool positional = value == 0 || (size >= 1e-4 && size < 1e15);
  const auto format = positional ? std::chars_format::fixed : std::chars_format::scientific;
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value, format);
  std::string number(text, error == std::errc() ? end : text);
  // 1e+15 and 1e-05 are written 1e15 and 1e-5.
  if (const size_t e = number.find('e'); e != std::string::npos) {
    std::erase(number, '+');
    while (e + 2 < number.size() && number[e + 1] == '-' && number[e + 2] == '0')
      number.erase(e + 2, 1);
    while (e + 2 < number.size() && number[e + 1] == '0') number.erase(e + 1, 1);
  }
  return number;
}

}  // namespace gyre
