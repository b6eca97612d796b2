#pragma once

// A pretrained decoder's forward pass over a few windows of text, to look at it: layer by layer
// over all windows, so that a model larger than memory can be looked at. In memory are the residual
// stream of all windows, what a few windows need within a layer, and of the weights some rows a
// thread (linear.h). It follows everything that ModelConfig and ModelExtras can say, in float32,
// with the formulas of tests/trainer/reference/README.md; the trainer's own model is another, and
// tests hold the two against each other.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/status.h"
#include "trainer/model/attention_sums.h"
#include "trainer/position/rotation.h"
#include "trainer/pretrained/pretrained_folder.h"

namespace gyre {

/// One row of text: tokens, and what each of them is to predict (-1 = nothing).
struct TokenWindow {
  std::vector<int32_t> tokens, targets;
};

/// What of the whole is done: `done` of `layers` (and the head after the last) in tokens.
struct ForwardProgress {
  int layer = 0, layers = 0;  // layer == layers: the head
  int64_t done = 0, of = 0;   // tokens within it
};

struct ForwardOptions {
  int threads = 1;
  /// Of the first window, so many tokens come as a trace; at most that window's.
  int traced_tokens = 0;
  std::stop_token stop;
  std::function<void(const ForwardProgress&)> progress;
};

struct ForwardLosses {
  std::vector<float> nll;  // of every place of all windows, one after another; 0 where no target
  double nats = 0;         // their sum
  int64_t targets = 0;
  /// As ForwardTrace (trainer/model/model.h) has them.
  std::vector<double> residual_norms;
};

/// What a layer did; the trace is of options.traced_tokens.
using LayerFn =
    std::function<void(int layer, const AttentionSums& sums, const AttentionTrace& trace)>;

/// The tensors are those of the configuration (CheckTensors()). INVALID_ARGUMENT: there are no
/// windows, or one has a token that is not in the vocabulary. DATA_LOSS: a weight is no number,
/// or what is computed of them is none. CANCELLED: a stop was asked for. `positions` is one a
/// layer, for windows of the longest one's length.
Result<ForwardLosses> RunForward(const PretrainedFolder& folder,
                                 const std::vector<LayerPosition>& positions,
                                 const std::vector<TokenWindow>& windows,
                                 const ForwardOptions& options, const LayerFn& look);

}  // namespace gyre
