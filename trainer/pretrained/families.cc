#include "trainer/pretrained/families.h"

namespace gyre {
namespace {

// From transformers' configuration_*.py.
const Family kFamilies[] = {
    {.name = "gemma", .like = "gemma", .tied = true, .head_dim = 256},
    {.name = "gemma2",
     .like = "gemma",
     .tied = true,
     .head_dim = 256,
     .window = 4096,
     .window_pattern = 2,
     .query_pre_attn_scalar = 256,
     .extras = {.post_norms = true, .attention_softcap = 50, .logit_softcap = 30}},
    {.name = "gemma3_text",
     .like = "gemma",
     .tied = true,
     .qk_norm = true,
     .head_dim = 256,
     .theta = 1e6,
     .local_theta = 1e4,
     .window = 4096,
     .window_pattern = 6,
     .query_pre_attn_scalar = 256,
     .extras = {.post_norms = true, .qk_norm_adds_one = true}},
    {.name = "llama", .like = "llama"},
    {.name = "mistral", .like = "llama", .window = 4096},
    {.name = "qwen2",
     .like = "llama",
     .window = 4096,
     .uses_window = false,
     .first_window_layer = 28,
     .extras = {.qkv_bias = true}},
    {.name = "qwen3",
     .like = "llama",
     .qk_norm = true,
     .head_dim = 128,
     .window = 4096,
     .uses_window = false,
     .first_window_layer = 28},
    {.name = "smollm3",
     .like = "llama",
     .tied = true,
     .theta = 2e6,
     .nope_interval = 4,
     .uses_window = false,
     .window_needs_nope = true},
};

}  // namespace

std::span<const Family> AllFamilies() { return kFamilies; }

const Family* FindFamily(std::string_view name) {
  for (const Family& family : kFamilies) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

std::string FamilyNames() {
  std::string names;
  for (const Family& family : kFamilies) {
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  }
  return names;
}

}  // namespace gyre
