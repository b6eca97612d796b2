#pragma once

#include <string>

namespace gyre {

/// 32 random hexadecimal digits from the operating system. For identities only (a worker's
/// incarnation, a request's idempotency key), never for anything that a result depends on.
std::string NewId();

}  // namespace gyre
