#pragma once

// The families of decoders that can be read, by Hugging Face's model_type: what each is like, and
// what holds where a config.json does not say, as Hugging Face's own classes have it.

#include <span>
#include <string>
#include <string_view>

#include "trainer/pretrained/model_extras.h"

namespace gyre {

struct Family {
  std::string_view name;  // model_type
  std::string_view like;  // ModelConfig::model_type: norm, activation, scaling of the embedding
  bool tied = false;
  bool qk_norm = false;
  int head_dim = 0;  // 0: hidden_size / num_attention_heads
  double theta = 10000;
  double local_theta = 0;  // of layers with a window; 0: theta
  int nope_interval = 0;   // every n-th layer does not rotate
  int window = 0;
  bool uses_window = true;  // use_sliding_window
  /// Every n-th layer has no window, the others do; 0: see first_window_layer.
  int window_pattern = 0;
  int first_window_layer = 0;      // max_window_layers
  bool window_needs_nope = false;  // only layers that do not rotate have a window
  int query_pre_attn_scalar = 0;   // 0: head_dim
  ModelExtras extras = {};
};

std::span<const Family> AllFamilies();

/// Null if there is none of that name.
const Family* FindFamily(std::string_view name);

/// "gemma, gemma2, ...".
std::string FamilyNames();

}  // namespace gyre
