#include "trainer/arguments.h"

#include <charconv>

namespace gyre {

Result<Arguments> Arguments::Parse(const std::vector<std::string>& words,
                                   const std::set<std::string>& flags) {
  Arguments parsed;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      parsed.words.push_back(words[i]);
      continue;
    }
    const size_t equals = words[i].find('=');
    const std::string flag = words[i].substr(0, equals);
    if (!flags.contains(flag)) return InvalidArgument("unknown flag " + flag);
    if (equals == std::string::npos && i + 1 == words.size()) {
      return InvalidArgument(flag + " needs a value");
    }
    const std::string value =
        equals == std::string::npos ? words[++i] : words[i].substr(equals + 1);
    if (!parsed.flags.emplace(flag, value).second) return InvalidArgument(flag + " is given twice");
  }
  return parsed;
}

std::string Arguments::Flag(const std::string& name, const std::string& otherwise) const {
  const auto found = flags.find(name);
  return found == flags.end() ? otherwise : found->second;
}

Result<int> Arguments::Number(const std::string& name, int otherwise, int least) const {
  const auto found = flags.find(name);
  if (found == flags.end()) return otherwise;
  const std::string& text = found->second;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least ||
      number > 1'000'000) {
    return InvalidArgument(name + " must be a whole number from " + std::to_string(least) +
                           " to 1000000, and is '" + text + "'");
  }
  return number;
}

}  // namespace gyre
