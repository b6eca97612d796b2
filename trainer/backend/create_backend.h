#pragma once

// The backends of this build, by name.

#include <memory>
#include <string>

#include "base/status.h"
#include "trainer/backend/backend.h"

namespace gyre {

/// "cpu" (the fast one) or "reference" (one thread, slow, the specification). INVALID_ARGUMENT
/// lists the names.
Result<std::unique_ptr<Backend>> CreateBackend(const std::string& name, int threads);

}  // namespace gyre
