#include "cli/positive_integer.h"

#include <string>

namespace gyre {
namespace {

constexpr size_t kMostDigits = 18;  // of what fits in 64 bits

std::string Fault(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= kMostDigits &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (digits && text.find_first_not_of('0') != std::string::npos) return "";
  return "must be a whole number above 0, and is '" + text + "'";
}

}  // namespace

CLI::Validator PositiveInteger() { return {Fault, "POSITIVE"}; }

}  // namespace gyre
