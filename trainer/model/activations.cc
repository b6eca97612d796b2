#include "trainer/model/activations.h"

namespace gyre {
namespace {

// Hands out places of one allocation, each on a cache line of its own.
class Planner {
 public:
  explicit Planner(void* memory) : memory_(memory) {}
  Reals Take(int64_t count) {
    const Reals place = {memory_, size_};
    size_ += (count + 15) / 16 * 16;
    return place;
  }
  int64_t size() const { return size_; }

 private:
  void* memory_;
  int64_t size_ = 0;
};

struct Widths {
  explicit Widths(const ModelConfig& config)
      : hidden(config.hidden_size),
        inner(config.intermediate_size),
        queries(static_cast<int64_t>(config.num_attention_heads) * config.head_dim),
        qkv(queries + 2 * static_cast<int64_t>(config.num_key_value_heads) * config.head_dim),
        turned_heads(config.num_attention_heads + config.num_key_value_heads) {}
  int64_t hidden, inner, queries, qkv, turned_heads;
};

LayerActivations PlanLayer(const ModelConfig& config, int64_t tokens, Planner* planner) {
  const Widths width(config);
  LayerActivations layer;
  layer.inverse_rms = planner->Take(tokens);
  layer.qkv = planner->Take(tokens * width.qkv);
  if (config.qk_norm) {
    layer.raw_qk = planner->Take(tokens * width.turned_heads * config.head_dim);
    layer.qk_inverse_rms = planner->Take(tokens * width.turned_heads);
  }
  layer.attention = planner->Take(tokens * width.queries);
  layer.log_sum_exp = planner->Take(tokens * config.num_attention_heads);
  layer.middle = planner->Take(tokens * width.hidden);
  layer.middle_inverse_rms = planner->Take(tokens);
  layer.gate_up = planner->Take(tokens * 2 * width.inner);
  layer.activated = planner->Take(tokens * width.inner);
  return layer;
}

Activations Plan(const ModelConfig& config, int64_t tokens, bool training, Planner* planner) {
  const Widths width(config);
  Activations all;
  const size_t count = static_cast<size_t>(config.num_hidden_layers);
  if (training) {
    for (size_t l = 0; l < count; ++l) {
      const Reals x = planner->Take(tokens * width.hidden);
      all.layers.push_back(PlanLayer(config, tokens, planner));
      all.layers.back().x = x;
    }
    all.last = planner->Take(tokens * width.hidden);
    all.d_residual = planner->Take(tokens * width.hidden);
    all.d_final_normed = planner->Take(tokens * width.hidden);
    all.d_qkv = planner->Take(tokens * width.qkv);
    all.d_attention = planner->Take(tokens * width.queries);
    all.d_activated = planner->Take(tokens * width.inner);
  } else {
    all.layers.assign(count, PlanLayer(config, tokens, planner));
    const Reals residual[2] = {planner->Take(tokens * width.hidden),
                               planner->Take(tokens * width.hidden)};
    for (size_t l = 0; l < count; ++l) all.layers[l].x = residual[l % 2];
    all.last = residual[count % 2];
  }
  all.final_normed = planner->Take(tokens * width.hidden);
  all.final_inverse_rms = planner->Take(tokens);
  all.nll = planner->Take(tokens);
  all.scalar = planner->Take(1);
  return all;
}

}  // namespace

Result<Activations> Activations::Create(const ModelConfig& config, int64_t tokens, bool training,
                                        Backend* backend) {
  Reals memory;
  GYRE_RETURN_IF_ERROR(
      ToStatus(backend->Allocate(ActivationElements(config, tokens, training), &memory)));
  Planner planner(memory.memory);
  Activations all = Plan(config, tokens, training, &planner);
  all.memory = memory;
  return all;
}

int64_t ActivationElements(const ModelConfig& config, int64_t tokens, bool training) {
  Planner dry(nullptr);
  Plan(config, tokens, training, &dry);
  return dry.size();
}

Status ToStatus(const BackendError& error) {
  if (error.ok()) return OkStatus();
  if (error.kind == BackendError::Kind::kOutOfMemory) return ResourceExhausted(error.message);
  return Internal(error.message);
}

}  // namespace gyre
