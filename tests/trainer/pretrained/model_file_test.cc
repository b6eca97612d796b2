// Files of llama.cpp and llama2.c as models: names, configuration, rotations.

#include "trainer/pretrained/model_file.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/pretrained/made_gguf.h"
#include "trainer/data/dataset.h"
#include "trainer/position/rotation.h"
#include "trainer/pretrained/gguf_rope.h"
#include "trainer/pretrained/pretrained_folder.h"
#include "trainer/pretrained/tokenizer_of.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A model of one layer, hidden 64, 2 heads of 32, and nothing in it but what the names tell.
MadeGguf Model(const std::string& architecture, const std::vector<std::string>& more = {}) {
  const auto zeros = [](uint64_t count) { return std::string(count * 4, '\0'); };
  MadeGguf made;
  made.Text("general.architecture", architecture);
  for (const auto& [key, count] :
       {std::pair("block_count", 1u), std::pair("embedding_length", 64u),
        std::pair("feed_forward_length", 32u), std::pair("attention.head_count", 2u),
        std::pair("context_length", 128u)}) {
    made.Count(architecture + "." + key, count);
  }
  made.Number(architecture + ".attention.layer_norm_rms_epsilon", 1e-5f);
  made.Tensor("token_embd.weight", {64, 10}, 0, zeros(640));
  made.Tensor("output_norm.weight", {64}, 0, zeros(64));
  for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
    made.Tensor(std::string("blk.0.") + name + ".weight", {64, 64}, 0, zeros(4096));
  }
  made.Tensor("blk.0.attn_norm.weight", {64}, 0, zeros(64));
  made.Tensor("blk.0.ffn_norm.weight", {64}, 0, zeros(64));
  made.Tensor("blk.0.ffn_gate.weight", {64, 32}, 0, zeros(2048));
  made.Tensor("blk.0.ffn_up.weight", {64, 32}, 0, zeros(2048));
  made.Tensor("blk.0.ffn_down.weight", {32, 64}, 0, zeros(2048));
  for (const std::string& name : more) {
    const uint64_t size =
        name.find("q_norm") != std::string::npos || name.find("k_norm") != std::string::npos ? 32
                                                                                             : 64;
    made.Tensor(name, {size}, 0, zeros(size));
  }
  return made;
}

class ModelFileTest : public TemporaryHomeTest {
 protected:
  // Opened, and its tensors held against its configuration.
  Result<PretrainedFolder> Open(const std::string& content) {
    GYRE_ASSIGN_OR_RETURN(PretrainedFolder model, PretrainedFolder::Open(Write("m", content)));
    GYRE_RETURN_IF_ERROR(CheckTensors(model.weights, model.config.model, model.config.extras));
    return model;
  }
  std::string Error(const MadeGguf& made) {
    const auto model = Open(made.File());
    EXPECT_FALSE(model.ok());
    return model.status().message();
  }
};

TEST_F(ModelFileTest, Architectures) {
  auto model = Open(Model("llama").Number("llama.rope.freq_base", 1e5f).File());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config.family, "llama");
  EXPECT_EQ(model->config.model.vocab_size, 10);
  EXPECT_EQ(model->config.model.head_dim, 32);
  EXPECT_EQ(model->config.model.rms_norm_eps, 1e-5);
  EXPECT_TRUE(model->config.model.tie_word_embeddings);
  EXPECT_EQ(model->config.position.layers[0].theta, 1e5);
  EXPECT_EQ(model->config.position.layers[0].pairing, "interleaved");
  EXPECT_EQ(model->config.extras, ModelExtras());

  model = Open(Model("qwen2", {"output.weight"}).File());
  EXPECT_THAT(model.status().message(), HasSubstr("lm_head.weight has the shape [64]"));
  model =
      Open(Model("qwen2", {"blk.0.attn_q.bias", "blk.0.attn_k.bias", "blk.0.attn_v.bias"}).File());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->config.extras.qkv_bias);
  EXPECT_EQ(model->config.position.layers[0].pairing, "half");

  model = Open(Model("qwen3", {"blk.0.attn_q_norm.weight", "blk.0.attn_k_norm.weight"}).File());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->config.model.qk_norm);
}

// The converter added the 1 of Gemma's norms to the weights, which here are 0: so w is -1.
TEST_F(ModelFileTest, GemmasNorms) {
  const auto norms = [](const PretrainedFolder& model, const std::string& name) {
    std::vector<float> values(1);
    EXPECT_TRUE(model.weights.ReadRows(name, 3, 1, values).ok()) << name;
    return values[0];
  };
  auto model = Open(Model("gemma").File());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config.model.model_type, "gemma");
  EXPECT_EQ(norms(*model, "model.norm.weight"), -1);
  EXPECT_EQ(norms(*model, "model.layers.0.post_attention_layernorm.weight"), -1);
  std::vector<float> row(64);
  ASSERT_TRUE(model->weights.ReadRows("model.embed_tokens.weight", 9, 1, row).ok());
  EXPECT_EQ(row[0], 0);

  model = Open(Model("gemma3", {"blk.0.attn_q_norm.weight", "blk.0.attn_k_norm.weight",
                                "blk.0.post_attention_norm.weight", "blk.0.post_ffw_norm.weight"})
                   .Count("gemma3.attention.sliding_window", 512)
                   .Number("gemma3.rope.freq_base", 1e6f)
                   .File());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config.family, "gemma3_text");
  EXPECT_TRUE(model->config.extras.post_norms && model->config.extras.qk_norm_adds_one);
  EXPECT_EQ(model->config.extras.query_scale, 0);
  EXPECT_EQ(model->config.position.windows[0], 512);
  EXPECT_EQ(model->config.position.layers[0].theta, 1e4);
  EXPECT_EQ(norms(*model, "model.layers.0.self_attn.q_norm.weight"), -1);
  EXPECT_EQ(norms(*model, "model.layers.0.pre_feedforward_layernorm.weight"), -1);
}

TEST_F(ModelFileTest, WhatIsNotUnderstoodIsNamed) {
  EXPECT_THAT(Error(Model("mamba")), HasSubstr("general.architecture is 'mamba'; known are llama"));
  EXPECT_THAT(Error(MadeGguf()), HasSubstr("general.architecture is missing"));
  EXPECT_THAT(Error(MadeGguf().Text("general.architecture", "llama")),
              HasSubstr("llama.block_count is missing"));
  EXPECT_THAT(Error(Model("llama").Count("llama.expert_count", 8)),
              HasSubstr("mixtures of experts"));
  EXPECT_THAT(Error(Model("llama").Count("llama.attention.value_length", 16)),
              HasSubstr("differs from attention.key_length"));
  EXPECT_THAT(Error(Model("llama").Number("llama.rope.scaling.yarn_log_multiplier", 0.1f)),
              HasSubstr("llama.rope.scaling.yarn_log_multiplier is not a key known here"));
  EXPECT_THAT(Error(Model("llama").Text("llama.rope.scaling.type", "longrope")),
              HasSubstr("is 'longrope'; none, linear and yarn are known"));
  EXPECT_THAT(Error(Model("qwen2").Wholes("qwen2.rope.dimension_sections", {8, 8})),
              HasSubstr("dimension_sections"));
  EXPECT_THAT(Error(Model("llama", {"blk.0.attn_q.bias"})),
              HasSubstr("tensor model.layers.0.self_attn.q_proj.bias is none that this model has"));
  EXPECT_THAT(Error(Model("llama", {"rope_factors_long.weight"})),
              HasSubstr("rope_factors_long.weight is none"));
  EXPECT_THAT(Error(Model("llama").Count("llama.attention.head_count_kv", 1)),
              HasSubstr("k_proj.weight has the shape [64, 64]; the configuration says [32, 64]"));
  MadeGguf divisors = Model("llama");
  divisors.Tensor("rope_freqs.weight", {16}, 0, FloatBytes(std::vector<float>(16, 7)));
  const auto model = Open(divisors.File());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config.position.layers[0].scaling.type, "linear");
  EXPECT_EQ(model->config.position.layers[0].scaling.factor, 7);
}

TEST_F(ModelFileTest, DivisorsOfFrequencies) {
  // As llama.cpp's converter makes them of Llama 3.2's scaling.
  EncodingConfig llama3{.theta = 5e5};
  llama3.scaling = {.type = "llama3", .factor = 32, .original_max_position_embeddings = 8192};
  ModelConfig model{.num_hidden_layers = 1, .head_dim = 64};
  const auto scaled = ResolvePositions({.common = llama3}, model, 16);
  const auto plain = ResolvePositions({.common = {.theta = 5e5}}, model, 16);
  ASSERT_TRUE(scaled.ok() && plain.ok());
  std::vector<float> divisors;
  for (size_t k = 0; k < 32; ++k) {
    divisors.push_back(static_cast<float>((*plain)[0].rotation.frequencies[k] /
                                          (*scaled)[0].rotation.frequencies[k]));
  }
  EXPECT_EQ(*RopeOfDivisors(divisors, 5e5), (Json{{"rope_type", "llama3"},
                                                  {"factor", 32.0},
                                                  {"low_freq_factor", 1.0},
                                                  {"high_freq_factor", 4.0},
                                                  {"original_max_position_embeddings", 8192}}));
  EXPECT_TRUE(RopeOfDivisors(std::vector<float>(8, 1), 1e4)->is_null());
  EXPECT_EQ(*RopeOfDivisors({1, 1, 1, 1e30f}, 1e4),
            (Json{{"rope_type", "proportional"}, {"partial_rotary_factor", 0.75}}));
  for (const std::vector<float>& odd :
       {std::vector<float>{1, 2, 1, 3}, {1, 1, NAN}, {0, 0}, {1, -2}}) {
    EXPECT_THAT(RopeOfDivisors(odd, 1e4).status().message(), HasSubstr("rope_freqs.weight"));
  }
}

// Bytes, one merge, and a token of its own; `kind` and `pre` as llama.cpp names them.
MadeGguf WithTokenizer(const std::string& kind, const std::string& pre) {
  std::vector<std::string> tokens;
  std::vector<int32_t> types(258, 1);
  for (int code = 0; code < 256; ++code) {  // the characters that bytes are written as
    const bool itself = (code >= 33 && code <= 126) || (code >= 161 && code != 173);
    int other = 256;
    for (int below = 0; below < code; ++below) {
      other += !((below >= 33 && below <= 126) || (below >= 161 && below != 173));
    }
    const int character = itself ? code : other;
    tokens.push_back(character < 128 ? std::string(1, static_cast<char>(character))
                                     : std::string{static_cast<char>(0xC0 | character >> 6),
                                                   static_cast<char>(0x80 | (character & 63))});
  }
  tokens.push_back("ab");
  tokens.push_back("<|end|>");
  types.back() = 3;
  MadeGguf made = Model("llama");
  made.Text("tokenizer.ggml.model", kind).Text("tokenizer.ggml.pre", pre);
  made.Texts("tokenizer.ggml.tokens", tokens).Wholes("tokenizer.ggml.token_type", types);
  made.Texts("tokenizer.ggml.merges", {"a b"}).Count("tokenizer.ggml.bos_token_id", 257);
  return made;
}

TEST_F(ModelFileTest, TheTokenizerInAFile) {
  const auto encode = [this](const std::string& pre, const std::string& text) {
    std::vector<int32_t> ids;
    const auto tokenizer = TokenizerOf(Write("m.gguf", WithTokenizer("gpt2", pre).File()));
    EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
    if (tokenizer.ok()) (*tokenizer)->Encode(text, true, &ids);
    return ids;
  };
  EXPECT_THAT(encode("smollm", "abc<|end|>"), ElementsAre(256, 'c', 257));
  // Llama 3's begin with a token, which then is none of the text's.
  EXPECT_EQ(encode("llama-bpe", "ab<|end|>").size(), 8u);
  EXPECT_THAT(
      TokenizerOf(Write("m.gguf", WithTokenizer("gpt2", "tekken").File())).status().message(),
      HasSubstr("tokenizer.ggml.pre is 'tekken'; known are gpt-2"));
  EXPECT_THAT(
      TokenizerOf(Write("m.gguf", WithTokenizer("llama", "default").File())).status().message(),
      HasSubstr("is 'llama', and only gpt2 (byte-level BPE) can be read; put the model's "
                "tokenizer.model beside"));
  EXPECT_THAT(TokenizerOf(Write("x/m.bin", "")).status().message(),
              HasSubstr("no tokenizer.model or tokenizer.json in"));
  Write("x/tokenizer.json", "{}");
  EXPECT_THAT(TokenizerOf(Path("x")).status().message(), HasSubstr("only BPE can be read"));
}

TEST_F(ModelFileTest, ASweepNamesTheTokenizerInAFile) {
  const std::string model = Write("m.gguf", WithTokenizer("gpt2", "smollm").File());
  const DatasetRequest request{Write("t.txt", "abc"), "all", model, 0};
  EXPECT_EQ(PrepareDataset(home_, request, {}).status().code(), StatusCode::kUnimplemented);
  const PrepareOptions options{.open_tokenizer = OpenNamedTokenizer};
  const auto info = PrepareDataset(home_, request, {}, options);
  ASSERT_TRUE(info.ok()) << info.status();
  const auto dataset = Dataset::Open(home_, info->hash);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::vector<int32_t> ids(3);
  ASSERT_TRUE(dataset->Read(0, ids).ok());
  EXPECT_THAT(ids, ElementsAre(258, 256, 'c'));
  EXPECT_EQ(*NamedVocabulary(model), info->vocab_size);
  // The data set has a copy of it, and another one in the file's place is another data set.
  const auto kept = dataset->OpenTokenizer();
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(FindDataset(home_, request)->hash, info->hash);
  Write("m.gguf", WithTokenizer("gpt2", "qwen2").Text("x", "y").File());
  EXPECT_EQ(FindDataset(home_, request).status().code(), StatusCode::kNotFound);
  EXPECT_NE(PrepareDataset(home_, request, {}, options)->hash, info->hash);
  EXPECT_EQ(NamedVocabulary(Path("absent.gguf")).status().code(), StatusCode::kNotFound);
}

std::string Header(std::vector<int32_t> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4};
}

// hidden 8, MLP 4, 2 layers, 2 heads on 1, vocabulary 5, context 6: values count up.
std::string Llama2c(bool shared, int* first_norm = nullptr) {
  std::vector<float> values;
  const auto add = [&values](size_t count) {
    for (size_t i = 0; i < count; ++i) values.push_back(static_cast<float>(values.size()));
  };
  add(5 * 8);
  if (first_norm != nullptr) *first_norm = 40;
  add(2 * 8);                    // attention norms
  add(2 * (64 + 32 + 32 + 64));  // q, k, v, o
  add(2 * 8);                    // MLP norms
  add(2 * 3 * 32);               // gate, down, up
  add(8);                        // last norm
  add(6 * 2 * 2);                // cosines, sines
  if (!shared) add(5 * 8);
  return Header({8, 4, 2, 2, 1, shared ? 5 : -5, 6}) + FloatBytes(values);
}

TEST_F(ModelFileTest, Llama2c) {
  auto model = Open(Llama2c(true));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->config.position.layers[0].pairing, "interleaved");
  EXPECT_EQ(model->config.model.rms_norm_eps, 1e-5);
  EXPECT_EQ(model->config.model.num_key_value_heads, 1);
  std::vector<float> values(8);
  ASSERT_TRUE(model->weights.Read("model.layers.1.input_layernorm.weight", values).ok());
  EXPECT_THAT(values, ElementsAre(48, 49, 50, 51, 52, 53, 54, 55));
  ASSERT_TRUE(model->weights.ReadRows("model.layers.0.self_attn.k_proj.weight", 1, 1, values).ok());
  EXPECT_EQ(values[0], 56 + 128 + 8);
  EXPECT_FALSE(
      model->weights.ReadRows("model.layers.0.self_attn.k_proj.weight", 4, 1, values).ok());
  model = Open(Llama2c(false));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->config.model.tie_word_embeddings);
  EXPECT_EQ(model->config.model.vocab_size, 5);
}

TEST_F(ModelFileTest, Llama2cWithAVersion) {
  std::string header = Bytes(uint32_t{0x616b3432}) + Bytes(int32_t{1}) +
                       Header({8, 4, 1, 2, 2, 5, 6}) + std::string(1, '\1');
  header.resize(256);
  std::vector<float> values;
  for (int i = 0; i < 3 * 8 + 5 * 8 + 4 * 64 + 3 * 32; ++i) values.push_back(static_cast<float>(i));
  const auto model = Open(header + FloatBytes(values));
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<float> row(8);
  ASSERT_TRUE(model->weights.ReadRows("model.embed_tokens.weight", 0, 1, row).ok());
  EXPECT_EQ(row[0], 24);
  header[4] = 2;
  EXPECT_THAT(Open(header + FloatBytes(values)).status().message(),
              HasSubstr("llama2.c model of version 2; versions 0 and 1"));
}

TEST_F(ModelFileTest, FilesThatAreNoModel) {
  const std::string whole = Llama2c(true);
  for (const size_t length : {0, 3, 20, 28, 500, static_cast<int>(whole.size()) - 1}) {
    const auto model = Open(whole.substr(0, length));
    EXPECT_EQ(model.status().code(), StatusCode::kDataLoss) << length;
  }
  EXPECT_THAT(Open(whole + "x").status().message(), HasSubstr("bytes, and a model of its header"));
  EXPECT_THAT(Open(std::string(100, 'x')).status().message(), HasSubstr("neither a GGUF"));
  const int32_t most = 1 << 24;
  EXPECT_THAT(Open(Header({most, most, most, 1, 1, most, most})).status().message(),
              HasSubstr("lies outside the file"));
  Write("folder/model.gguf", "");
  EXPECT_THAT(PretrainedFolder::Open(Path("folder")).status().message(),
              HasSubstr("name the file itself"));
  EXPECT_THAT(PretrainedFolder::Open(Write("a.safetensors", "")).status().message(),
              HasSubstr("name its folder"));
  EXPECT_EQ(PretrainedFolder::Open(Path("absent.gguf")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre
