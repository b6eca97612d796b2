#include "analysis/head_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "analysis/residual.h"

namespace gyre {
namespace {

// Of the logits seen so far: their largest, and the sum of exp(logit - largest).
struct Exponentials {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;

  void Add(double at, double weight) {
    if (at > largest) {
      sum *= std::exp(largest - at);
      largest = at;
    }
    sum += weight * std::exp(at - largest);
  }
};

Exponentials Of(const float* logits, int64_t count, double cap) {
  Exponentials of;
  of.largest = Capped(*std::max_element(logits, logits + count), cap);
  for (int64_t i = 0; i < count; ++i) {
    of.sum += std::exp(static_cast<float>(Capped(logits[i], cap) - of.largest));
  }
  return of;
}

}  // namespace

Status HeadLosses(const HuggingFaceConfig& config, std::span<const float> x,
                  std::span<const int32_t> targets, int threads, Linear* linear,
                  std::span<float> nll) {
  const ModelConfig& model = config.model;
  const double cap = config.extras.logit_softcap;
  const auto tokens = static_cast<int64_t>(targets.size());
  const std::string name =
      model.tie_word_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  std::vector<std::vector<Exponentials>> seen(static_cast<size_t>(threads),
                                              std::vector<Exponentials>(targets.size()));
  std::vector<double> target_logits(targets.size(), 0);
  GYRE_RETURN_IF_ERROR(
      linear->MultiplyBlocks(name, {x.data(), tokens, model.hidden_size}, model.vocab_size,
                             [&](int thread, int64_t first, int64_t rows, const float* logits) {
                               for (size_t t = 0; t < targets.size(); ++t, logits += rows) {
                                 if (targets[t] < 0) continue;
                                 const Exponentials of = Of(logits, rows, cap);
                                 seen[static_cast<size_t>(thread)][t].Add(of.largest, of.sum);
                                 const int64_t place = targets[t] - first;
                                 if (place >= 0 && place < rows)
                                   target_logits[t] = Capped(logits[place], cap);
                               }
                             }));
  for (size_t t = 0; t < targets.size(); ++t) {
    Exponentials all;
    for (const auto& of_thread : seen) {
      if (of_thread[t].sum > 0) all.Add(of_thread[t].largest, of_thread[t].sum);
    }
    nll[t] = targets[t] < 0
                 ? 0.0f
                 : static_cast<float>(all.largest + std::log(all.sum) - target_logits[t]);
  }
  return OkStatus();
}

}  // namespace gyre
