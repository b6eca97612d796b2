#pragma once

// Formulations of a step's matrix products with oneDNN, each ready to run again and again on fixed
// buffers (values do not matter, only that they are small and no denormals). Threads are OpenMP's,
// as oneDNN's own. One thread drives all of this.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace gyre {

/// What products take and give.
struct ProductTypes {
  bool bf16_in = false, bf16_out = false;
};

struct Formulation {
  std::string name;           // e.g. "matmul, rows split over our threads"
  std::function<void()> run;  // the whole product, with all threads
};

/// What a linear layer of (outputs, inputs) weights multiplies for all tokens at once.
enum class LinearKind {
  kForward,         // y (tokens, outputs) = x weight^T
  kBackwardInput,   // dx (tokens, inputs) = dy weight
  kBackwardWeight,  // dweight (outputs, inputs) = dy^T x
};
struct LinearShape {
  LinearKind kind;
  int64_t tokens = 0, outputs = 0, inputs = 0;

  double flops() const {
    return 2.0 * static_cast<double>(tokens) * static_cast<double>(outputs * inputs);
  }
};

/// What oneDNN cannot do here, or only in its plain loops, is left out.
std::vector<Formulation> LinearFormulations(const LinearShape& shape, ProductTypes types,
                                            int threads);

/// The six products of `units` pairs of a row and a head. `tile` = queries: all queries with all
/// keys; less: tiles of so many queries, with the keys up to the tile's last query alone. Heads
/// that share keys and values may be one unit with the queries of all.
struct AttentionShape {
  int64_t units = 0, queries = 0, keys = 0, head_dim = 0, tile = 0;
};

std::vector<Formulation> AttentionFormulations(const AttentionShape& shape, ProductTypes types,
                                               int threads);

}  // namespace gyre
