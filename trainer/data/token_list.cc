#include "trainer/data/token_list.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace gyre {

Result<std::vector<int32_t>> ReadTokenList(const std::string& file) {
  GYRE_ASSIGN_OR_RETURN(std::string text, ReadFile(file));
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '[') {
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_array()) return InvalidArgument(file + " is not a JSON list of token ids");
    std::vector<int32_t> tokens;
    for (const auto& item : json) {
      if (!item.is_number_unsigned() || item.get<uint64_t>() > INT32_MAX) {
        return InvalidArgument(file + ": entry " + std::to_string(tokens.size()) +
                               " is no token id");
      }
      tokens.push_back(static_cast<int32_t>(item.get<uint64_t>()));
    }
    return tokens;
  }
  std::vector<int32_t> tokens;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) ++at;
    if (at == end) return tokens;
    int32_t token = 0;
    const auto [next, error] = std::from_chars(at, end, token);
    const bool ends =
        next == end || *next == ' ' || *next == '\t' || *next == '\r' || *next == '\n';
    if (error != std::errc() || token < 0 || !ends) {
      return InvalidArgument(file + ": entry " + std::to_string(tokens.size()) + " is no token id");
    }
    tokens.push_back(token);
    at = next;
  }
}

}  // namespace gyre
