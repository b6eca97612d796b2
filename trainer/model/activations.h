#pragma once

// Where everything between tokens and loss lies: an allocation of each kind of number,
// planned from the largest batch.

#include <vector>

#include "base/status.h"
#include "trainer/backend/backend.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// Named as in backend.h. A layer goes from x through `middle` (after attention) to the next
/// layer's x.
struct LayerActivations {
  Reals x, inverse_rms;
  Narrows qkv, raw_qk;
  Reals qk_inverse_rms;
  Narrows attention;
  Reals log_sum_exp;
  Reals middle, middle_inverse_rms;
  Narrows gate_up;
};

/// What a forward pass leaves behind: nothing (all layers share one set, and x alternates between
/// two places), each layer's x alone (they share the rest, which is computed again), or everything.
enum class Kept { kNothing, kInputs, kEverything };

struct Activations {
  static Result<Activations> Create(const ModelConfig& config, int64_t tokens, Kept kept,
                                    Backend* backend);

  Reals memory;  // the allocations; whoever holds this frees them
  Narrows narrow_memory;
  std::vector<LayerActivations> layers;
  /// The first layer's for all: of a pass that none goes back from, so that it touches little
  /// memory. No operation reads x of its layer and writes x of the next.
  std::vector<LayerActivations> shared;
  Reals last;                             // (N, C) the residual stream after the last layer
  Reals final_normed, final_inverse_rms;  // (N, C), (N)
  Reals nll;                              // (N)
  Reals scalar;                           // (1)
  // Gradients; unless nothing is kept.
  Reals d_residual, d_final_normed;  // (N, C)
  Narrows d_qkv, d_attention;        // as the activations they belong to
};

/// How many numbers that is.
struct ActivationSizes {
  int64_t reals = 0, narrows = 0;
};
ActivationSizes SizesOfActivations(const ModelConfig& config, int64_t tokens, Kept kept);

Status ToStatus(const BackendError& error);

}  // namespace gyre
