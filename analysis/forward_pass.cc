#include "analysis/forward_pass.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "analysis/head_loss.h"
#include "analysis/layer.h"
#include "analysis/linear.h"
#include "analysis/residual.h"
#include "analysis/weight_rows.h"
#include "trainer/statistics/means.h"

namespace gyre {
namespace {

// Tokens that go through attention together (at least a window), and through MLP and head: enough
// that reading a weight costs little beside using it.
constexpr int64_t kAttentionTokens = 2048, kMlpTokens = 1024;

class ForwardPass {
 public:
  ForwardPass(const PretrainedFolder& folder, const std::vector<LayerPosition>& positions,
              const ForwardOptions& options, cpu::ThreadPool* pool)
      : config_(folder.config),
        positions_(positions),
        options_(options),
        pool_(pool),
        weights_(&folder),
        linear_(&weights_, pool, options.stop) {}

  Status TakeWindows(const std::vector<TokenWindow>& windows) {
    for (const TokenWindow& window : windows) {
      places_.push_back(
          {static_cast<int64_t>(tokens_.size()), static_cast<int>(window.tokens.size())});
      length_ = std::max(length_, places_.back().tokens);
      tokens_.insert(tokens_.end(), window.tokens.begin(), window.tokens.end());
      targets_.insert(targets_.end(), window.targets.begin(), window.targets.end());
    }
    for (const auto* ids : {&tokens_, &targets_}) {
      for (const int32_t id : *ids) {
        if (id < config_.model.vocab_size && (id >= 0 || ids == &targets_)) continue;
        return InvalidArgument("the token " + std::to_string(id) +
                               " is not in the model's vocabulary of " +
                               std::to_string(config_.model.vocab_size));
      }
    }
    return OkStatus();
  }

  Status Embed() {
    const auto hidden = static_cast<size_t>(config_.model.hidden_size);
    const auto scale = config_.model.model_type == "gemma"
                           ? static_cast<float>(std::sqrt(config_.model.hidden_size))
                           : 1.0f;
    residual_.resize(tokens_.size() * hidden);
    std::mutex mutex;
    Status fault;
    pool_->Share(static_cast<int64_t>(tokens_.size()), [&](int64_t t, int) {
      const std::span<float> row(residual_.data() + static_cast<size_t>(t) * hidden, hidden);
      const int32_t id = tokens_[static_cast<size_t>(t)];
      if (Status read = weights_.Read("model.embed_tokens.weight", id, 1, row); !read.ok()) {
        const std::lock_guard lock(mutex);
        fault = std::move(read);
      }
      for (float& value : row) value *= scale;
    });
    losses_.residual_norms.push_back(NormOf(residual_));
    return fault;
  }

  Status RunLayer(int layer, const LayerFn& look) {
    const LayerPosition& position = positions_[static_cast<size_t>(layer)];
    GYRE_ASSIGN_OR_RETURN(
        const auto pass,
        LayerPass::Create({&config_, &weights_, &linear_, pool_, length_}, layer, position));
    AttentionSums sums = ZeroSums(config_.model).front();
    AttentionTrace trace = EmptyTrace();
    for (size_t first = 0; first < places_.size();) {
      const std::vector<WindowPlace> windows = WindowsFrom(first);
      GYRE_RETURN_IF_ERROR(
          pass->Attend(windows, residual_.data(), &sums, first == 0 ? &trace : nullptr));
      first += windows.size();
      Show(layer, (windows.back().first + windows.back().tokens) / 2);
    }
    const auto tokens = static_cast<int64_t>(tokens_.size());
    for (int64_t first = 0; first < tokens; first += kMlpTokens) {
      const int64_t count = std::min(kMlpTokens, tokens - first);
      GYRE_RETURN_IF_ERROR(pass->Feed(residual_.data() + first * config_.model.hidden_size, count));
      Show(layer, tokens / 2 + (first + count) / 2);
    }
    losses_.residual_norms.push_back(NormOf(residual_));
    if (!std::isfinite(losses_.residual_norms.back())) {
      return BeyondFloats("layer " + std::to_string(layer));
    }
    look(layer, sums, trace);
    return OkStatus();
  }

  Status RunHead() {
    const auto hidden = static_cast<size_t>(config_.model.hidden_size);
    GYRE_ASSIGN_OR_RETURN(std::vector<float> weight,
                          weights_.Vector("model.norm.weight", config_.model.hidden_size));
    const std::vector<float> gain = GainOf(std::move(weight), config_.model.model_type == "gemma");
    pool_->Share(static_cast<int64_t>(tokens_.size()), [&](int64_t t, int) {
      float* row = residual_.data() + static_cast<size_t>(t) * hidden;
      NormalizeRow({row, hidden}, gain, config_.model.rms_norm_eps, row);
    });
    losses_.residual_norms.push_back(NormOf(residual_));
    losses_.nll.resize(tokens_.size());
    const auto chunk = static_cast<size_t>(kMlpTokens);
    for (size_t first = 0; first < tokens_.size(); first += chunk) {
      const size_t count = std::min(chunk, tokens_.size() - first);
      GYRE_RETURN_IF_ERROR(HeadLosses(config_, {residual_.data() + first * hidden, count * hidden},
                                      std::span(targets_).subspan(first, count), pool_->size(),
                                      &linear_, std::span(losses_.nll).subspan(first, count)));
      Show(config_.model.num_hidden_layers, static_cast<int64_t>(first + count));
    }
    for (size_t t = 0; t < targets_.size(); ++t) {
      losses_.nats += losses_.nll[t];
      losses_.targets += targets_[t] >= 0 ? 1 : 0;
    }
    return std::isfinite(losses_.nats) ? OkStatus() : BeyondFloats("the head");
  }

  ForwardLosses Take() { return std::move(losses_); }

 private:
  AttentionTrace EmptyTrace() const {
    const ModelConfig& model = config_.model;
    const auto tokens =
        static_cast<size_t>(std::min(options_.traced_tokens, places_.front().tokens));
    const auto heads = static_cast<size_t>(model.num_attention_heads);
    AttentionTrace trace;
    trace.qkv.resize(tokens * (heads + 2 * static_cast<size_t>(model.num_key_value_heads)) *
                     static_cast<size_t>(model.head_dim));
    trace.log_sum_exp.resize(tokens * heads);
    trace.scale = config_.extras.query_scale;
    trace.softcap = config_.extras.attention_softcap;
    return trace;
  }

  // Each weight is a number, and what comes of them is none.
  Status BeyondFloats(const std::string& where) const {
    return DataLoss("the numbers that " + where + " computes are beyond those of float32: its " +
                    "weights are damaged, or those of another model");
  }

  std::vector<WindowPlace> WindowsFrom(size_t first) const {
    std::vector<WindowPlace> windows;
    int64_t tokens = 0;
    for (size_t w = first; w < places_.size(); ++w) {
      tokens += places_[w].tokens;
      if (!windows.empty() && tokens > kAttentionTokens) break;
      windows.push_back(places_[w]);
    }
    return windows;
  }

  void Show(int layer, int64_t done) const {
    if (!options_.progress) return;
    options_.progress(
        {layer, config_.model.num_hidden_layers, done, static_cast<int64_t>(tokens_.size())});
  }

  const HuggingFaceConfig& config_;
  const std::vector<LayerPosition>& positions_;
  const ForwardOptions& options_;
  cpu::ThreadPool* const pool_;
  const WeightRows weights_;
  Linear linear_;
  std::vector<WindowPlace> places_;
  std::vector<int32_t> tokens_, targets_;
  std::vector<float> residual_;  // (tokens, hidden)
  int length_ = 0;
  ForwardLosses losses_;
};

}  // namespace

Result<ForwardLosses> RunForward(const PretrainedFolder& folder,
                                 const std::vector<LayerPosition>& positions,
                                 const std::vector<TokenWindow>& windows,
                                 const ForwardOptions& options, const LayerFn& look) {
  if (windows.empty()) return InvalidArgument("there is no text to look at");
  GYRE_ASSIGN_OR_RETURN(const auto pool, cpu::ThreadPool::Create(options.threads));
  ForwardPass pass(folder, positions, options, pool.get());
  GYRE_RETURN_IF_ERROR(pass.TakeWindows(windows));
  GYRE_RETURN_IF_ERROR(pass.Embed());
  for (int layer = 0; layer < folder.config.model.num_hidden_layers; ++layer) {
    GYRE_RETURN_IF_ERROR(pass.RunLayer(layer, look));
  }
  GYRE_RETURN_IF_ERROR(pass.RunHead());
  return pass.Take();
}

}  // namespace gyre
