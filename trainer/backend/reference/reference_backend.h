#pragma once

// The specification of every backend: each operation as the plain loops that its comment in
// backend.h describes, sums in double precision, one thread, nothing fused. Slow on purpose;
// obvious on purpose. Narrow is Real here: what every precision is held against rounds nothing.

#include <memory>

#include "trainer/backend/backend.h"

namespace gyre {

std::unique_ptr<Backend> CreateReferenceBackend();        // Real is float
std::unique_ptr<Backend> CreateDoubleReferenceBackend();  // Real is double: for gradient checks

}  // namespace gyre
