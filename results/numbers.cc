#include "results/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace gyre {
namespace {

template <typename... Values>
std::string Print(const char* format, Values... values) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

}  // namespace

int DecimalsFor(double spread) {
  if (!(spread > 0) || !std::isfinite(spread)) return 3;
  return std::clamp(1 - static_cast<int>(std::floor(std::log10(spread))), 0, 6);
}

std::string FormatFixed(double value, int decimals) {
  if (!std::isfinite(value) || std::abs(value) >= 1e15) return Print("%g", value);
  std::string text = Print("%.*f", decimals, value);
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string FormatSigned(double value, int decimals) {
  std::string text = FormatFixed(value, decimals);
  const bool zero = text.find_first_not_of("0.") == std::string::npos;
  return text.starts_with('-') || zero ? text : "+" + text;
}

std::string FormatCount(double count) {
  constexpr std::array<const char*, 5> kUnits = {"", "k", "M", "G", "T"};
  size_t unit = 0;
  // 999.5 would be written as 1000.
  while (unit + 1 < kUnits.size() && std::abs(count) >= 999.5) {
    count /= 1000;
    ++unit;
  }
  return Print("%.3g", count) + kUnits[unit];
}

std::string FormatP(double p) {
  if (p < 0.0001) return "<0.0001";
  return Print("%.2g", p);
}

std::string FormatDuration(int64_t seconds) {
  const auto part = [](int64_t value) { return static_cast<long long>(value); };
  if (seconds < 60) return Print("%llds", part(std::max<int64_t>(seconds, 0)));
  if (seconds < 3600) return Print("%lldm %02llds", part(seconds / 60), part(seconds % 60));
  if (seconds < 86400) {
    return Print("%lldh %02lldm", part(seconds / 3600), part(seconds / 60 % 60));
  }
  return Print("%lldd %lldh", part(seconds / 86400), part(seconds / 3600 % 24));
}

}  // namespace gyre
