#include "trainer/pretrained/tensor_files.h"

#include <gmock/gmock.h>

#include <bit>
#include <cstring>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/model/parameters.h"
#include "trainer/pretrained/weights_object.h"

namespace gyre {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class TensorFilesTest : public TemporaryHomeTest {
 protected:
  TensorFilesTest() {
    model_.vocab_size = 5;
    model_.num_hidden_layers = 1;
    model_.hidden_size = model_.intermediate_size = 4;
    model_.num_attention_heads = model_.num_key_value_heads = 1;
    model_.head_dim = 4;
    Write("one/config.json", Config());
    Write("two/config.json", Config());
  }

  std::string Config() const {
    return R"({"model_type": "llama", "vocab_size": 5, "num_hidden_layers": 1, "hidden_size": 4,
               "intermediate_size": 4, "num_attention_heads": 1, "head_dim": 4,
               "tie_word_embeddings": true})";
  }

  // Values that float16 and bfloat16 have, too.
  static float ValueOf(size_t tensor, size_t i) {
    return static_cast<float>(static_cast<int>(i % 7) - 3) / 4 + static_cast<float>(tensor % 3);
  }

  // Tensors first .. last-1 of the model, as F32, F16 or BF16.
  void WriteShard(const std::string& file, size_t first, size_t last, const char* dtype = "F32") {
    const auto layout = ParameterLayout::Create(model_);
    Json header = Json::object();
    std::string data;
    for (size_t t = first; t < last; ++t) {
      const Parameter& parameter = layout->parameters[t];
      const size_t begin = data.size();
      for (size_t i = 0; i < static_cast<size_t>(parameter.count); ++i) {
        const auto bits = std::bit_cast<uint32_t>(ValueOf(t, i));
        uint32_t out = bits, bytes = 4;
        if (dtype == std::string("BF16")) out = bits >> 16, bytes = 2;
        if (dtype == std::string("F16")) {
          bytes = 2;
          const uint32_t exponent = (bits >> 23 & 255) - 112;
          out = (bits & 0x7fffffff) == 0
                    ? 0
                    : (bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3ff);
        }
        data.append(reinterpret_cast<const char*>(&out), bytes);
      }
      header[parameter.name] = {
          {"dtype", dtype}, {"shape", parameter.shape}, {"data_offsets", {begin, data.size()}}};
    }
    const std::string text = header.dump();
    const uint64_t size = text.size();
    Write(file, std::string(reinterpret_cast<const char*>(&size), 8) + text + data);
  }

  std::string Name(size_t tensor) const {
    return ParameterLayout::Create(model_)->parameters[tensor].name;
  }
  size_t count() const { return ParameterLayout::Create(model_)->parameters.size(); }

  void WriteIndex(const std::string& folder, size_t border) {
    Json map = Json::object();
    const auto layout = ParameterLayout::Create(model_);
    for (size_t t = 0; t < count(); ++t) {
      map[layout->parameters[t].name] = t < border ? "a.safetensors" : "b.safetensors";
    }
    Write(folder + "/model.safetensors.index.json", Json{{"weight_map", map}}.dump());
  }

  std::string Import(const std::string& folder) {
    const auto opened = PretrainedFolder::Open(home_ / folder);
    if (!opened.ok()) return opened.status().message();
    const auto kept = KeepWeights(home_, *opened);
    return kept.ok() ? kept->hash : kept.status().message();
  }

  ModelConfig model_;
};

TEST_F(TensorFilesTest, TheSameWeightsAreTheSameObjectHoweverTheyAreKept) {
  WriteShard("one/model.safetensors", 0, count());
  const std::string hash = Import("one");
  ASSERT_EQ(hash.size(), 64u) << hash;
  for (const char* dtype : {"F16", "BF16"}) {
    WriteShard("two/a.safetensors", 0, 3, dtype);
    WriteShard("two/b.safetensors", 3, count());
    WriteIndex("two", 3);
    EXPECT_EQ(Import("two"), hash) << dtype;
  }
  const auto object = OpenObject(home_, hash);
  ASSERT_TRUE(object.ok()) << object.status();
  const TensorEntry* norm = object->Find("model.norm.weight");
  std::vector<float> values(4);
  ASSERT_TRUE(object->Read(*norm, values).ok());
  EXPECT_EQ(values[2], ValueOf(count() - 1, 2));
}

TEST_F(TensorFilesTest, WhatIsWrongIsNamed) {
  EXPECT_THAT(Import("one"), HasSubstr("model.safetensors"));
  WriteShard("two/a.safetensors", 0, 3);
  WriteIndex("two", 3);
  EXPECT_THAT(Import("two"), AllOf(HasSubstr("b.safetensors"),
                                   HasSubstr("model.safetensors.index.json names it")));
  WriteShard("two/b.safetensors", 4, count());
  EXPECT_THAT(Import("two"), HasSubstr("has no tensor " + Name(3)));
  WriteShard("two/b.safetensors", 2, count());
  EXPECT_THAT(Import("two"), HasSubstr(Name(2) + " is in two shards"));
  Write("two/model.safetensors.index.json", R"({"weight_map": {"x": "../one/x"}})");
  EXPECT_THAT(Import("two"), HasSubstr("must be a name in this folder"));
  Write("two/model.safetensors.index.json", "[]");
  EXPECT_THAT(Import("two"), HasSubstr("no \"weight_map\""));

  WriteShard("one/model.safetensors", 0, count() - 1);
  EXPECT_THAT(Import("one"), HasSubstr("has no tensor model.norm.weight"));
  WriteShard("one/model.safetensors", 0, count(), "I32");
  EXPECT_THAT(Import("one"),
              HasSubstr("one/model.safetensors: tensor model.embed_tokens.weight has "
                        "the type I32; F32, "));
  WriteShard("one/model.safetensors", 0, count());
  std::string config = Config();
  Write("one/config.json",
        config.replace(config.find("\"vocab_size\": 5"), 15, "\"vocab_size\": 6"));
  EXPECT_THAT(Import("one"), HasSubstr("model.embed_tokens.weight has the shape [5, 4]"));
}

TEST_F(TensorFilesTest, ObjectsAreHeldAgainstTheirNames) {
  WriteShard("one/model.safetensors", 0, count());
  const std::string hash = Import("one");
  EXPECT_EQ(OpenObject(home_, std::string(64, '0')).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(OpenObject(home_, "../x").status().code(), StatusCode::kInvalidArgument);
  std::string bytes = *ReadFile(home_ / "objects" / hash);
  bytes.back() ^= 1;
  Write("objects/" + hash, bytes);
  EXPECT_EQ(OpenObject(home_, hash).status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
