#pragma once

// One layer of a pretrained decoder, over some whole windows at a time: attention, then the MLP.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/attention.h"
#include "analysis/linear.h"
#include "trainer/pretrained/pretrained_folder.h"

namespace gyre {

/// Where the tokens of a window are in the residual stream.
struct WindowPlace {
  int64_t first = 0;
  int tokens = 0;
};

/// What all layers share; everything outlives them.
struct LayerContext {
  const HuggingFaceConfig* config = nullptr;
  const WeightRows* weights = nullptr;
  Linear* linear = nullptr;
  cpu::ThreadPool* pool = nullptr;
  int length = 0;  // of the longest window
};

class LayerPass {
 public:
  /// Reads the layer's norms and biases.
  static Result<std::unique_ptr<LayerPass>> Create(const LayerContext& context, int layer,
                                                   const LayerPosition& position);

  /// `residual` (tokens, hidden) is that of all windows; of those of `windows` it becomes what goes
  /// into the MLP. Adds to `sums`; `trace`, if there is one, is of the first window.
  Status Attend(const std::vector<WindowPlace>& windows, float* residual, AttentionSums* sums,
                AttentionTrace* trace);
  /// `tokens` rows of the residual stream go through the MLP.
  Status Feed(float* residual, int64_t tokens);

 private:
  LayerPass(const LayerContext& context, int layer, const LayerPosition& position);
  Status ReadVectors();
  Status MakeQkv(const float* residual, int64_t tokens);
  Status AttendWindows(const std::vector<WindowPlace>& windows, AttentionSums* sums,
                       AttentionTrace* trace);
  void FinishQkv(float* row) const;
  void NormalizeRows(const float* x, int64_t tokens, const std::vector<float>& gain,
                     float* y) const;
  void AddRows(const std::vector<float>& gain, int64_t tokens, float* residual);

  const LayerContext context_;
  const ModelConfig& model_;
  const ModelExtras& extras_;
  const std::string prefix_;
  const LayerAttention attention_;
  std::vector<std::unique_ptr<HeadAttention>> heads_;  // by thread
  std::vector<float> input_gain_, mlp_gain_;
  std::vector<float> after_attention_gain_, after_mlp_gain_;  // empty without post_norms
  std::vector<float> q_gain_, k_gain_;                        // empty without qk_norm
  std::vector<float> qkv_bias_;                               // empty without
  std::vector<float> normed_, qkv_, attended_, projected_, gate_up_, activated_;
};

}  // namespace gyre
