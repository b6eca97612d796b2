// Faults of optimizers that users of other trainers have reported in public, held against this one.

#include <gmock/gmock.h>

#include <cmath>

#include "tests/trainer/made_model.h"

namespace gyre {
namespace {

// With all targets ignored there is no gradient, and what still moves is what decays.
Batch WithoutTargets() {
  Batch batch = RandomBatch(2, 8, 31);
  batch.targets.assign(batch.targets.size(), -1);
  return batch;
}

std::vector<std::string> DecayedBy(const MadeModel& model, const OptimizerConfig& optimizer) {
  std::vector<std::vector<float>> before;
  for (const Tensor& tensor : model->parameters()) before.push_back(model.Weights(tensor.name));
  EXPECT_TRUE(model->ZeroGradients().ok() && model->ForwardBackward(WithoutTargets()).ok());
  EXPECT_EQ(*model->OptimizerStep(optimizer, 0.1, 1, 16), 0);
  std::vector<std::string> decayed;
  for (size_t t = 0; t < before.size(); ++t) {
    const std::string& name = model->parameters()[t].name;
    const std::vector<float> after = model.Weights(name);
    if (after == before[t]) continue;  // to the bit
    decayed.push_back(name);
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_FLOAT_EQ(after[i], static_cast<float>(before[t][i] * (1 - 0.1 * 0.5))) << name;
    }
  }
  return decayed;
}

std::vector<std::string> Golden(const ModelConfig& config) {
  std::vector<std::string> names = {"model.embed_tokens.weight"};
  for (int layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
      names.push_back(LayerTensor(layer, std::string("self_attn.") + name));
    }
    if (config.mlp == "gated") names.push_back(LayerTensor(layer, "mlp.gate_proj"));
    names.push_back(LayerTensor(layer, "mlp.up_proj"));
    names.push_back(LayerTensor(layer, "mlp.down_proj"));
  }
  if (!config.tie_word_embeddings) names.push_back("lm_head.weight");
  return names;
}

// All families of architectures: each key that adds or takes away tensors, both ways.
std::vector<ModelConfig> Architectures() {
  std::vector<ModelConfig> configs;
  for (int bits = 0; bits < 16; ++bits) {
    ModelConfig config = SmallModel();
    config.model_type = (bits & 1) != 0 ? "gemma" : "llama";
    config.tie_word_embeddings = (bits & 2) != 0;
    config.qk_norm = (bits & 4) != 0;
    config.mlp = (bits & 8) != 0 ? "plain" : "gated";
    configs.push_back(config);
  }
  return configs;
}

// ServiceNow/Fast-LLM#542, Lightning-AI/lit-llama#254: a refactoring put norms under weight decay,
// or the wrong ones of two groups. Which tensors decay, by name, for each architecture; a step
// without a gradient leaves the norms as they are.
TEST(OptimizerReports, WhichTensorsDecay) {
  OptimizerConfig optimizer;
  optimizer.weight_decay = 0.5;
  for (const Precision precision : UsablePrecisions()) {
    for (const ModelConfig& config : Architectures()) {
      const MadeModel model(config, precision);
      for (const Tensor& tensor : model->parameters()) {
        if (tensor.shape.size() == 1) model.FillWeights(tensor.name, 0.7f);
      }
      const std::vector<std::string> golden = Golden(config);
      EXPECT_THAT(DecayedBy(model, optimizer), testing::ElementsAreArray(golden))
          << config.model_type << config.tie_word_embeddings << config.qk_norm << config.mlp;
      // What is left are the norms, all of them.
      const size_t norms = 2 * (config.qk_norm ? 4 : 2) + 1;
      EXPECT_EQ(model->parameters().size(), golden.size() + norms);
    }
  }
}

TEST(OptimizerReports, WithoutDecayAndGradientNothingMoves) {
  OptimizerConfig optimizer;
  optimizer.weight_decay = 0;
  EXPECT_THAT(DecayedBy(MadeModel(SmallModel()), optimizer), testing::IsEmpty());
}

// LBANN/lbann PR #2376: the norm of all gradients counted some of them twice.
// deepspeedai/DeepSpeed#8475: it averaged parts. Here it is the norm of what Save() gives, each
// tensor once (a tied one too), however many micro-batches it came in, and clipping goes by it.
TEST(OptimizerReports, TheGradientNormCountsEveryTensorOnce) {
  for (const bool tied : {true, false}) {
    for (const int parts : {1, 3}) {
      ModelConfig config = SmallModel();
      config.tie_word_embeddings = tied;
      const MadeModel model(config);
      ASSERT_TRUE(model->ZeroGradients().ok());
      for (int part = 0; part < parts; ++part) {
        ASSERT_TRUE(
            model->ForwardBackward(RandomBatch(2, 16, 31, static_cast<uint64_t>(part))).ok());
      }
      const int64_t targets = parts * 32;
      double squares = 0;
      for (const Tensor& tensor : model->parameters()) {
        for (const float g : model.Get(TensorKind::kGradient, tensor.name)) {
          squares += static_cast<double>(g) * g;
        }
      }
      const double norm = std::sqrt(squares) / static_cast<double>(targets);
      OptimizerConfig optimizer;
      optimizer.clip_norm = norm / 4;
      EXPECT_NEAR(*model->OptimizerStep(optimizer, 1e-3, 1, targets), norm, 1e-6 * norm);
      squares = 0;
      for (const Tensor& tensor : model->parameters()) {
        for (const float m : model.Get(TensorKind::kFirstMoment, tensor.name)) {
          squares += static_cast<double>(m) * m;
        }
      }
      const double clipped = (1 - optimizer.beta1) * optimizer.clip_norm;
      EXPECT_NEAR(std::sqrt(squares), clipped, 1e-5 * clipped) << tied << " " << parts;
    }
  }
}

}  // namespace
}  // namespace gyre
