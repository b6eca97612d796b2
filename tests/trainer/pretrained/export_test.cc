#include <gmock/gmock.h>

#include "base/files.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/backend/create_backend.h"
#include "trainer/model_folder.h"
#include "trainer/position/rotation.h"
#include "trainer/pretrained/export_config.h"
#include "trainer/pretrained/export_folder.h"
#include "trainer/pretrained/weights_object.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

ModelConfig Small(const std::string& type = "llama") {
  ModelConfig model;
  model.model_type = type;
  model.vocab_size = 257;
  model.num_hidden_layers = 2;
  model.hidden_size = 24;
  model.intermediate_size = 32;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 1;
  model.head_dim = 12;
  return model;
}

PositionConfig Encoding(const std::function<void(EncodingConfig&)>& change) {
  PositionConfig position;
  change(position.common);
  return position;
}

// What our own reader makes of the config.json.
std::vector<LayerPosition> ReadBack(const ExportedConfig& exported, bool gyre_block) {
  Json json = exported.json;
  if (!gyre_block) json.erase("gyre");
  const auto config = ParseHuggingFaceConfig(json);
  EXPECT_TRUE(config.ok()) << config.status();
  return *ResolvePositions(config->position, config->model, 64);
}

TEST(ExportConfigTest, WhatHuggingFaceCanSayIsSaidInItsKeys) {
  const std::vector<std::pair<std::string, PositionConfig>> encodings = {
      {"default", {}},
      {"default", Encoding([](auto& e) { e.theta = 500000; })},
      {"proportional", Encoding([](auto& e) { e.p = 0.75; })},
      {"proportional", Encoding([](auto& e) { e.p = 0.1; })},  // no pair at all
      {"proportional", Encoding([](auto& e) { e.type = "nope"; })},
      {"proportional", Encoding([](auto& e) {
         e.band = {0, 5};
       })},
      {"proportional", Encoding([](auto& e) {
         e.p = 0.5, e.scaling = {"linear", 4};
       })},
      {"linear", Encoding([](auto& e) {
         e.scaling = {"linear", 4};
       })},
      {"dynamic", Encoding([](auto& e) {
         e.scaling = {"dynamic", 4, 32};
       })},
      {"yarn", Encoding([](auto& e) {
         e.scaling = {"yarn", 4, 32};
       })},
      {"llama3", Encoding([](auto& e) {
         e.scaling = {"llama3", 8, 32, 1, 4};
       })},
  };
  for (const std::string family : {"llama", "gemma"}) {
    for (const auto& [type, position] : encodings) {
      const ModelConfig model = Small(family);
      const ExportedConfig exported = ExportConfig(model, position, 64, 256);
      EXPECT_THAT(exported.not_in_transformers, ElementsAre()) << type;
      EXPECT_EQ(exported.json["rope_parameters"]["rope_type"], type);
      const auto wanted = *ResolvePositions(position, model, 64);
      for (const bool gyre_block : {true, false}) {
        const auto read = ReadBack(exported, gyre_block);
        for (size_t l = 0; l < wanted.size(); ++l) {
          EXPECT_EQ(read[l].rotation.frequencies, wanted[l].rotation.frequencies) << type;
          EXPECT_EQ(read[l].rotation.attention_factor, wanted[l].rotation.attention_factor) << type;
          EXPECT_EQ(read[l].window, 0);
        }
      }
      // Readers of the older spelling see the same, or a type that they don't know.
      EXPECT_EQ(exported.json["rope_scaling"],
                type == "default" ? Json() : exported.json["rope_parameters"]);
      EXPECT_EQ(exported.json["rope_theta"], position.common.theta);
    }
  }
}

// Versions of transformers differ in where they take yarn's factor from, and where dynamic begins.
TEST(ExportConfigTest, TheMostPositionsAgreeWithTheScaling) {
  const auto most = [](ScalingConfig scaling) {
    const auto position = Encoding([&](auto& e) { e.scaling = scaling; });
    return ExportConfig(Small(), position, 64, 256).json["max_position_embeddings"];
  };
  EXPECT_EQ(most({}), 64);
  EXPECT_EQ(most({"yarn", 4, 32}), 128);
  EXPECT_EQ(most({"dynamic", 4, 32}), 32);
  EXPECT_EQ(most({"llama3", 8, 32, 1, 4}), 64);
}

TEST(ExportConfigTest, WhatItCannotSayIsRefusedThereAndKnownHere) {
  PositionConfig mixed;
  mixed.layers.resize(2);
  mixed.layers[1].type = "nope";
  ModelConfig windowed = Small(), normed = Small(), plain = Small();
  plain.mlp = "plain";
  windowed.sliding_window = 16;
  normed.qk_norm = true;
  const std::vector<std::tuple<std::string, ModelConfig, PositionConfig>> cases = {
      {"keep low", Small(), Encoding([](auto& e) { e.p = 0.5, e.keep = "low"; })},
      {"position.band", Small(), Encoding([](auto& e) {
         e.band = {1, 4};
       })},
      {"respaced", Small(), Encoding([](auto& e) { e.p = 0.5, e.spacing = "respaced"; })},
      {"interleaved", Small(), Encoding([](auto& e) { e.pairing = "interleaved"; })},
      {"ALiBi", Small(), Encoding([](auto& e) { e.type = "alibi"; })},
      {"under scaling yarn", Small(), Encoding([](auto& e) {
         e.p = 0.5, e.scaling = {"yarn", 4, 32};
       })},
      {"without a rotation", Small(), Encoding([](auto& e) {
         e.p = 0, e.scaling = {"yarn", 4, 32};
       })},
      {"layer to layer", Small(), mixed},
      {"sliding_window", windowed, {}},
      {"qk_norm", normed, {}},
      {"model.mlp", plain, {}},
  };
  for (const auto& [words, model, position] : cases) {
    const ExportedConfig exported = ExportConfig(model, position, 64, -1);
    ASSERT_EQ(exported.not_in_transformers.size(), 1u) << words;
    EXPECT_THAT(exported.not_in_transformers[0], HasSubstr(words));
    EXPECT_EQ(exported.json["rope_parameters"]["rope_type"], "gyre");
    EXPECT_EQ(exported.json["rope_scaling"]["rope_type"], "gyre");
    EXPECT_EQ(ReadBack(exported, true), *ResolvePositions(position, model, 64)) << words;
    const auto config = ParseHuggingFaceConfig(exported.json);
    EXPECT_EQ(config->model.qk_norm, model.qk_norm);
    EXPECT_EQ(config->model.mlp, model.mlp);
  }
}

class ExportFolderTest : public TemporaryHomeTest {};

TEST_F(ExportFolderTest, ThereAndBackIsTheSameModel) {
  const ModelConfig config = Small("gemma");
  const PositionConfig position = Encoding([](auto& e) { e.p = 0.75, e.theta = 500; });
  const auto backend = CreateBackend("cpu", 1);
  auto model = Model::Create(config, *ResolvePositions(position, config, 16), backend->get(), 1, 16,
                             /*training=*/false);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE((*model)->InitializeWeights(3, 1).ok());
  std::vector<TensorEntry> entries;
  for (const Tensor& tensor : (*model)->parameters())
    entries.push_back({tensor.name, tensor.shape});
  const auto object = KeepObject(home_, [&](const std::filesystem::path& path) {
    auto writer = SafetensorsWriter::Create(path, {{"format", kObjectFormat}}, entries);
    for (const TensorEntry& entry : entries) {
      std::vector<float> values(static_cast<size_t>(ValueCount(entry.shape)));
      EXPECT_TRUE((*model)->Save(TensorKind::kWeight, entry.name, values).ok());
      EXPECT_TRUE(writer->Append(values).ok());
    }
    return writer->Finish();
  });
  ASSERT_TRUE(object.ok()) << object.status();

  const FolderFiles files = {{"config.json", ExportConfig(config, position, 16, 256).json.dump(2)},
                             {"README.md", "made"}};
  const auto folder = home_ / "out" / "model";
  ASSERT_TRUE(ExportFolder(home_, object->hash, config, files, folder).ok());
  const auto opened = PretrainedFolder::Open(folder);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const auto back = ModelOf(*opened, backend->get(), 1, 16, /*training=*/false);
  ASSERT_TRUE(back.ok()) << back.status();

  Batch batch{.rows = 1, .length = 16, .tokens = {}, .targets = {}, .document_starts = {}};
  for (int i = 0; i < 16; ++i) {
    batch.tokens.push_back(i * 7 % 256);
    batch.targets.push_back(i * 11 % 256);
  }
  std::vector<float> before(16), after(16);
  ASSERT_TRUE((*model)->Evaluate(batch, before).ok());
  ASSERT_TRUE((*back)->Evaluate(batch, after).ok());
  EXPECT_EQ(before, after);

  // As initial weights it is one object, whichever way it came.
  const auto first = KeepWeights(home_, *opened);
  const auto again = home_ / "again";
  ASSERT_TRUE(ExportFolder(home_, first->hash, config, files, again).ok());
  EXPECT_EQ(KeepWeights(home_, *PretrainedFolder::Open(again))->hash, first->hash);
}

TEST_F(ExportFolderTest, NothingIsOverwrittenAndNothingHalfDone) {
  Write("out/letter.txt", "mine");
  const std::string hash(64, 'a');
  EXPECT_EQ(ExportFolder(home_, hash, Small(), {}, home_ / "out").code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(ExportFolder(home_, hash, Small(), {}, home_ / "new").code(), StatusCode::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(home_ / "new"));
  // Weights of another model.
  const auto object = KeepObject(home_, [&](const std::filesystem::path& path) {
    auto writer = SafetensorsWriter::Create(path, {}, {{"model.embed_tokens.weight", {1, 1}}});
    EXPECT_TRUE(writer->Append(std::vector<float>{1}).ok());
    return writer->Finish();
  });
  const Status status = ExportFolder(home_, object->hash, Small(), {}, home_ / "new");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("model.embed_tokens.weight"));
  EXPECT_FALSE(std::filesystem::exists(home_ / "new"));
  EXPECT_FALSE(std::filesystem::exists(home_ / "new.partial"));
}

}  // namespace
}  // namespace gyre
