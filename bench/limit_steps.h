#pragma once

// The limit: a step's matrix products and nothing else, by oneDNN itself, on buffers that stay in
// the caches as well as they can. What is multiplied: forward, and backward to inputs and weights,
// every linear layer's whole batch of tokens at once, with weights that are already in the order
// that oneDNN likes best; and of attention, for each row and head, two products forward and four
// backward, the full square (what BenchCase::FlopsPerToken counts), or, "causal", only the tiles
// that a causal mask leaves. Each product takes the fastest of several formulations (libraries'
// entry points, whose threads, blocks, bf16 or float32 out), chosen by trying all of them first.

#include "bench/bench_case.h"

namespace gyre {

/// Takes part in the benchmark; the exit code.
int ServeLimitSteps(const BenchCase& bench_case);

}  // namespace gyre
