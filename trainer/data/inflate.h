#pragma once

// zlib streams, whole in memory. The one place that knows zlib.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gyre {

struct Inflated {
  std::string bytes;
  size_t consumed = 0;  // of the input; what follows belongs to somebody else
};

/// Inflates the zlib stream that `data` begins with. DATA_LOSS: no such stream, damaged, or cut
/// off; RESOURCE_EXHAUSTED: longer than `max_bytes`.
Result<Inflated> Inflate(std::string_view data, size_t max_bytes);

}  // namespace gyre
