#pragma once

// Token ids that somebody has written into a file by hand or by program.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

/// Either [1, 2, 3] or the same numbers with white space between. NOT_FOUND; INVALID_ARGUMENT: what
/// is no id, with its place.
Result<std::vector<int32_t>> ReadTokenList(const std::string& file);

}  // namespace gyre
