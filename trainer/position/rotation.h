#pragma once

// Every rotary encoding is, per layer, one rotation: d/2 angular frequencies (0 = not rotated), an
// attention factor, and the coordinate pairs they turn. NoPE is the rotation by nothing; ALiBi adds
// slopes. The rest of the trainer knows no encoding by name, only this. Everything is computed in
// float64.

#include <utility>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// At position t, pair k = (a, b) of a query or key x becomes
///   y[a] = A (x[a] cos(t f_k) - x[b] sin(t f_k)),   y[b] = A (x[b] cos(t f_k) + x[a] sin(t f_k));
/// coordinates of pairs with `scaled[k]` false pass through, without A as well (respaced's rest).
struct Rotation {
  std::vector<double> frequencies;         // (d/2) radians a token
  double attention_factor = 1;             // A; enters a logit as A^2
  std::vector<std::pair<int, int>> pairs;  // (d/2) coordinates of a head
  std::vector<bool> scaled;                // (d/2) whether A applies to the pair
  friend bool operator==(const Rotation&, const Rotation&) = default;
};

/// All that one layer knows about positions.
struct LayerPosition {
  Rotation rotation;
  std::vector<double> alibi_slopes;  // (heads), or empty
  int window = 0;  // a token sees itself and the window - 1 before it; 0 = no limit
  friend bool operator==(const LayerPosition&, const LayerPosition&) = default;
};

/// One entry a layer. `length` is the length of the sequences (only `dynamic` scaling looks at it).
/// Formulas: tests/trainer/reference/README.md, section 2. INVALID_ARGUMENT with the key's path,
/// e.g. "position.p: p·head_dim = 15 is odd, and spacing 'respaced' needs an even number".
Result<std::vector<LayerPosition>> ResolvePositions(const PositionConfig& position,
                                                    const ModelConfig& model, int length);

}  // namespace gyre
