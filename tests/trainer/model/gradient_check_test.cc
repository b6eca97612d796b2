// Finite-difference checks of the whole model's gradient, in double precision, for every encoding
// and family.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "trainer/backend/reference/reference_backend.h"
#include "trainer/model/model.h"

namespace gyre {
namespace {

struct Variant {
  std::string name;
  ModelConfig model;
  PositionConfig position;
  bool documents = false;
};

ModelConfig Small() {
  ModelConfig model;
  model.vocab_size = 13;
  model.num_hidden_layers = 2;
  model.hidden_size = 12;
  model.intermediate_size = 10;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 2;
  model.head_dim = 8;
  model.initializer_range = 0.3;
  return model;
}

Variant Encoded(const std::string& name, const EncodingConfig& encoding) {
  return {name, Small(), {.common = encoding}};
}

EncodingConfig Scaled(const ScalingConfig& scaling) {
  EncodingConfig encoding;
  encoding.scaling = scaling;
  return encoding;
}

Variant Shaped(const std::string& name, const std::function<void(ModelConfig&)>& change) {
  Variant variant{name, Small(), {}};
  change(variant.model);
  return variant;
}

std::vector<Variant> Variants() {
  std::vector<Variant> variants = {
      Encoded("rope", {}),
      Encoded("prope_high", {.p = 0.5}),
      Encoded("prope_low", {.p = 0.5, .keep = "low"}),
      Encoded("respaced", {.p = 0.5, .spacing = "respaced"}),
      Encoded("band", {.band = std::pair(1, 3)}),
      Encoded("interleaved", {.pairing = "interleaved"}),
      Encoded("nope", {.type = "nope"}),
      Encoded("alibi", {.type = "alibi"}),
      Encoded("linear", Scaled({.type = "linear", .factor = 4})),
      Encoded("dynamic",
              Scaled({.type = "dynamic", .factor = 2, .original_max_position_embeddings = 5})),
      Encoded("yarn",
              Scaled({.type = "yarn", .factor = 4, .original_max_position_embeddings = 64})),
      Encoded("llama3",
              Scaled({.type = "llama3", .factor = 8, .original_max_position_embeddings = 64})),
      Shaped("tied", [](ModelConfig& m) { m.tie_word_embeddings = true; }),
      Shaped("untied", [](ModelConfig& m) { m.tie_word_embeddings = false; }),
      Shaped("grouped", [](ModelConfig& m) { m.num_attention_heads = 4; }),
      Shaped("multi_query", [](ModelConfig& m) { m.num_key_value_heads = 1; }),
      Shaped("qk_norm", [](ModelConfig& m) { m.qk_norm = true; }),
      Shaped("window", [](ModelConfig& m) { m.sliding_window = 3; }),
      Shaped("gemma", [](ModelConfig& m) { m.model_type = "gemma"; }),
      Shaped("plain_mlp", [](ModelConfig& m) { m.mlp = "plain"; }),
      Shaped("gemma_plain_mlp", [](ModelConfig& m) { m.model_type = "gemma", m.mlp = "plain"; }),
      Shaped("gemma_qk_norm", [](ModelConfig& m) { m.model_type = "gemma", m.qk_norm = true; }),
  };
  Variant mixed = Encoded("mixed_layers", {});
  mixed.position.layers = {{.theta = 100, .p = 0.75}, {.type = "alibi"}};
  mixed.position.windows = {4, 0};
  variants.push_back(mixed);
  Variant documents = Encoded("documents", {});
  documents.documents = true;
  variants.push_back(documents);
  Variant everything = documents;
  everything.name = "documents_in_windows_with_alibi";
  everything.position.common.type = "alibi";
  everything.model.sliding_window = 4;
  variants.push_back(everything);
  return variants;
}

Batch MakeBatch(const Variant& variant) {
  Batch batch{2, 9, {}, {}, {}};
  const Random random(5, "batch");
  const uint64_t vocab = static_cast<uint64_t>(variant.model.vocab_size);
  for (uint64_t i = 0; i < 18; ++i) {
    batch.tokens.push_back(static_cast<int32_t>(random.Below(vocab, 0, i)));
    batch.targets.push_back(i % 5 == 2 ? -1 : static_cast<int32_t>(random.Below(vocab, 1, i)));
    const int place = static_cast<int>(i % 9);
    if (variant.documents) batch.document_starts.push_back(place < 4 ? 0 : place < 5 ? 4 : 5);
  }
  return batch;
}

class GradientCheck : public testing::TestWithParam<Variant> {};

TEST_P(GradientCheck, IsTheSlopeOfTheLoss) {
  const Variant& variant = GetParam();
  const Batch batch = MakeBatch(variant);
  const auto backend = CreateDoubleReferenceBackend();
  auto positions = ResolvePositions(variant.position, variant.model, batch.length);
  ASSERT_TRUE(positions.ok()) << positions.status();
  auto created = Model::Create(variant.model, *positions, backend.get(), 2, 9, true);
  ASSERT_TRUE(created.ok()) << created.status();
  Model& model = **created;
  ASSERT_TRUE(model.InitializeWeights(3, 1).ok());
  // Norms away from their identity, so that their gradients are no special case.
  const Random random(4, "norms");
  for (const Tensor& tensor : model.parameters()) {
    if (tensor.shape.size() != 1) continue;
    std::vector<float> values(static_cast<size_t>(tensor.shape[0]));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>((variant.model.model_type == "gemma" ? 0 : 1) +
                                     0.3 * random.Normal(0, i));
    }
    ASSERT_TRUE(model.Load(TensorKind::kWeight, tensor.name, values).ok());
  }
  ASSERT_TRUE(model.ForwardBackward(batch).ok());
  std::vector<std::vector<float>> gradients;
  for (const Tensor& tensor : model.parameters()) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    gradients.emplace_back(static_cast<size_t>(count));
    ASSERT_TRUE(model.Save(TensorKind::kGradient, tensor.name, gradients.back()).ok());
  }
  for (size_t p = 0; p < gradients.size(); ++p) {
    const std::string& name = model.parameters()[p].name;
    std::vector<float> weights(gradients[p].size());
    ASSERT_TRUE(model.Save(TensorKind::kWeight, name, weights).ok());
    const auto loss_at = [&](size_t i, float value) {
      std::vector<float> moved = weights;
      moved[i] = value;
      EXPECT_TRUE(model.Load(TensorKind::kWeight, name, moved).ok());
      const auto loss = model.ForwardBackward(batch);
      EXPECT_TRUE(loss.ok());
      return *loss;
    };
    for (uint64_t draw = 0; draw < 4; ++draw) {
      const size_t i = random.Below(weights.size(), p + 1, draw);
      const float above = weights[i] + 2e-4f, below = weights[i] - 2e-4f;
      const double slope = (loss_at(i, above) - loss_at(i, below)) /
                           (static_cast<double>(above) - static_cast<double>(below));
      EXPECT_NEAR(gradients[p][i], slope, 3e-6 * std::max(1.0, std::abs(slope)))
          << name << "[" << i << "]";
    }
    ASSERT_TRUE(model.Load(TensorKind::kWeight, name, weights).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, GradientCheck, testing::ValuesIn(Variants()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace gyre
