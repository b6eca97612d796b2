#include "trainer/model/activations.h"

namespace gyre {
namespace {

// Hands out places of one allocation, each on cache lines of its own also where an element has two
// bytes.
template <typename Element>
class Planner {
 public:
  explicit Planner(Place<Element> memory) : memory_(memory) {}
  Place<Element> Take(int64_t count) {
    const Place<Element> place = memory_.At(size_);
    size_ += (count + 31) / 32 * 32;
    return place;
  }
  int64_t size() const { return size_; }

 private:
  Place<Element> memory_;
  int64_t size_ = 0;
};

struct Widths {
  explicit Widths(const ModelConfig& config)
      : hidden(config.hidden_size),
        queries(static_cast<int64_t>(config.num_attention_heads) * config.head_dim),
        qkv(queries + 2 * static_cast<int64_t>(config.num_key_value_heads) * config.head_dim),
        turned_heads(config.num_attention_heads + config.num_key_value_heads),
        gate_up((config.gated() ? 2 : 1) * int64_t{config.intermediate_size}) {}
  int64_t hidden, queries, qkv, turned_heads, gate_up;
};

LayerActivations PlanLayer(const ModelConfig& config, int64_t tokens, Planner<Real>* reals,
                           Planner<Narrow>* narrows) {
  const Widths width(config);
  LayerActivations layer;
  layer.inverse_rms = reals->Take(tokens);
  layer.qkv = narrows->Take(tokens * width.qkv);
  if (config.qk_norm) {
    layer.raw_qk = narrows->Take(tokens * width.turned_heads * config.head_dim);
    layer.qk_inverse_rms = reals->Take(tokens * width.turned_heads);
  }
  layer.attention = narrows->Take(tokens * width.queries);
  layer.log_sum_exp = reals->Take(tokens * config.num_attention_heads);
  layer.middle = reals->Take(tokens * width.hidden);
  layer.middle_inverse_rms = reals->Take(tokens);
  layer.gate_up = narrows->Take(tokens * width.gate_up);
  return layer;
}

Activations Plan(const ModelConfig& config, int64_t tokens, Kept kept, Planner<Real>* reals,
                 Planner<Narrow>* narrows) {
  const Widths width(config);
  Activations all;
  const size_t count = static_cast<size_t>(config.num_hidden_layers);
  const LayerActivations shared =
      kept == Kept::kEverything ? LayerActivations() : PlanLayer(config, tokens, reals, narrows);
  all.layers.assign(count, shared);
  if (kept == Kept::kNothing) {
    const Reals residual[2] = {reals->Take(tokens * width.hidden),
                               reals->Take(tokens * width.hidden)};
    for (size_t l = 0; l < count; ++l) all.layers[l].x = residual[l % 2];
    all.last = residual[count % 2];
  } else {
    for (LayerActivations& layer : all.layers) {
      const Reals x = reals->Take(tokens * width.hidden);
      if (kept == Kept::kEverything) layer = PlanLayer(config, tokens, reals, narrows);
      layer.x = x;
    }
    all.last = reals->Take(tokens * width.hidden);
    all.d_residual = reals->Take(tokens * width.hidden);
    all.d_final_normed = reals->Take(tokens * width.hidden);
    all.d_qkv = narrows->Take(tokens * width.qkv);
    all.d_attention = narrows->Take(tokens * width.queries);
  }
  all.shared.assign(count, all.layers[0]);
  all.final_normed = reals->Take(tokens * width.hidden);
  all.final_inverse_rms = reals->Take(tokens);
  all.nll = reals->Take(tokens);
  all.scalar = reals->Take(1);
  return all;
}

}  // namespace

Result<Activations> Activations::Create(const ModelConfig& config, int64_t tokens, Kept kept,
                                        Backend* backend) {
  const ActivationSizes sizes = SizesOfActivations(config, tokens, kept);
  Reals memory;
  GYRE_RETURN_IF_ERROR(ToStatus(backend->Allocate(sizes.reals, &memory)));
  Narrows narrow_memory;
  if (const BackendError error = backend->Allocate(sizes.narrows, &narrow_memory); !error.ok()) {
    backend->Free(memory);
    return ToStatus(error);
  }
  Planner<Real> reals(memory);
  Planner<Narrow> narrows(narrow_memory);
  Activations all = Plan(config, tokens, kept, &reals, &narrows);
  all.memory = memory;
  all.narrow_memory = narrow_memory;
  return all;
}

ActivationSizes SizesOfActivations(const ModelConfig& config, int64_t tokens, Kept kept) {
  Planner<Real> reals({});
  Planner<Narrow> narrows({});
  Plan(config, tokens, kept, &reals, &narrows);
  return {reals.size(), narrows.size()};
}

Status ToStatus(const BackendError& error) {
  if (error.ok()) return OkStatus();
  if (error.kind == BackendError::Kind::kOutOfMemory) return ResourceExhausted(error.message);
  if (error.kind == BackendError::Kind::kPeer) return Unavailable(error.message);
  return Internal(error.message);
}

}  // namespace gyre
