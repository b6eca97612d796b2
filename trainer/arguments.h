#pragma once

// The trainer's own command lines: words, and flags that each take one value.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

struct Arguments {
  /// "--flag value" and "--flag=value". INVALID_ARGUMENT: a flag that is not among `flags`, twice,
  /// or without a value.
  static Result<Arguments> Parse(const std::vector<std::string>& words,
                                 const std::set<std::string>& flags);

  std::string Flag(const std::string& name, const std::string& otherwise) const;
  /// INVALID_ARGUMENT: not a whole number from `least` to a million.
  Result<int> Number(const std::string& name, int otherwise, int least) const;

  std::vector<std::string> words;
  std::map<std::string, std::string> flags;
};

}  // namespace gyre
