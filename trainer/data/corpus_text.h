#pragma once

#include <string>
#include <vector>

namespace gyre {

/// A corpus of our own, in memory, in its two parts.
struct CorpusText {
  std::vector<std::string> train, validation;  // documents
};

}  // namespace gyre
