#pragma once

// A Llama's folder as llama.cpp would write it in GGUF: other names, and pairs of queries and keys
// side by side.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/trainer/pretrained/made_gguf.h"
#include "trainer/pretrained/pretrained_folder.h"

namespace gyre {

// Row 2k + i of each head is row k + i d/2 of the other order.
inline std::vector<float> Interleaved(const std::vector<float>& rows, int head_dim,
                                      size_t columns) {
  std::vector<float> out;
  const size_t half = static_cast<size_t>(head_dim) / 2, heads = rows.size() / columns / half / 2;
  for (size_t row = 0; row < heads * half * 2; ++row) {
    const size_t in_head = row % (2 * half),
                 from = row - in_head + in_head / 2 + in_head % 2 * half;
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(from * columns);
    out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(columns));
  }
  return out;
}

inline std::vector<float> Values(const PretrainedFolder& model, const std::string& name) {
  std::vector<float> values(static_cast<size_t>(ValueCount(model.weights.Find(name)->shape)));
  EXPECT_TRUE(model.weights.Read(name, values).ok());
  return values;
}

inline std::string AsGguf(const PretrainedFolder& model) {
  const ModelConfig& config = model.config.model;
  MadeGguf made;
  made.Text("general.architecture", "llama")
      .Count("llama.block_count", static_cast<uint32_t>(config.num_hidden_layers))
      .Count("llama.embedding_length", static_cast<uint32_t>(config.hidden_size))
      .Count("llama.feed_forward_length", static_cast<uint32_t>(config.intermediate_size))
      .Count("llama.attention.head_count", static_cast<uint32_t>(config.num_attention_heads))
      .Count("llama.attention.head_count_kv", static_cast<uint32_t>(config.num_key_value_heads))
      .Count("llama.attention.key_length", static_cast<uint32_t>(config.head_dim))
      .Count("llama.attention.value_length", static_cast<uint32_t>(config.head_dim))
      .Number("llama.rope.freq_base", static_cast<float>(model.config.position.layers[0].theta))
      .Number("llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.rms_norm_eps));
  const auto add = [&](const std::string& gguf, const std::string& name, bool turned = false) {
    std::vector<float> values = Values(model, name + ".weight");
    const std::vector<int64_t> shape = model.weights.Find(name + ".weight")->shape;
    if (turned) values = Interleaved(values, config.head_dim, static_cast<size_t>(shape[1]));
    made.Tensor(gguf + ".weight", {shape.rbegin(), shape.rend()}, 0, FloatBytes(values));
  };
  add("token_embd", "model.embed_tokens");
  add("output_norm", "model.norm");
  for (int l = 0; l < config.num_hidden_layers; ++l) {
    const std::string to = "blk." + std::to_string(l) + ".";
    const std::string from = "model.layers." + std::to_string(l) + ".";
    add(to + "attn_norm", from + "input_layernorm");
    add(to + "ffn_norm", from + "post_attention_layernorm");
    add(to + "attn_q", from + "self_attn.q_proj", true);
    add(to + "attn_k", from + "self_attn.k_proj", true);
    add(to + "attn_v", from + "self_attn.v_proj");
    add(to + "attn_output", from + "self_attn.o_proj");
    add(to + "ffn_gate", from + "mlp.gate_proj");
    add(to + "ffn_up", from + "mlp.up_proj");
    add(to + "ffn_down", from + "mlp.down_proj");
  }
  return made.File();
}

}  // namespace gyre
