// Faults of models that users of other trainers have reported in public, held against this one.

#include <gmock/gmock.h>

#include <cmath>
#include <numbers>

#include "tests/trainer/made_model.h"

namespace gyre {
namespace {

using testing::Each;

// The rows of `head` of a matrix of heads, each of `size` numbers, in the order given.
std::vector<float> Heads(const std::vector<float>& matrix, size_t size,
                         const std::vector<size_t>& heads) {
  std::vector<float> rows;
  for (const size_t head : heads) {
    const auto begin = matrix.begin() + static_cast<std::ptrdiff_t>(head * size);
    rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(size));
  }
  return rows;
}

// ekzhang/jax-js PR #180, onnx/onnx PR #7274, apple/axlearn PR #842: heads that share keys and
// values got them in turn, 0 1 0 1, in place of 0 0 1 1. The same model with a key/value head for
// each query head tells which it is.
TEST(ModelReports, NeighbouringHeadsShareKeysAndValues) {
  ModelConfig grouped = SmallModel();
  grouped.initializer_range = 0.3;
  ModelConfig full = grouped;
  full.num_key_value_heads = 4;
  const MadeModel shared(grouped);
  const Batch batch = RandomBatch(3, 16, 31);
  const std::vector<float> losses = shared.Losses(batch);
  const auto losses_with = [&](const std::vector<size_t>& order) {
    const MadeModel model(full);
    for (const Tensor& tensor : shared->parameters()) {
      std::vector<float> weights = shared.Weights(tensor.name);
      const bool keys = tensor.name.find("k_proj") != std::string::npos;
      const bool values = tensor.name.find("v_proj") != std::string::npos;
      if (keys || values) weights = Heads(weights, 4 * 16, order);
      model.SetWeights(tensor.name, weights);
    }
    return model.Losses(batch);
  };
  EXPECT_THAT(losses_with({0, 0, 1, 1}), testing::Pointwise(testing::FloatNear(1e-5f), losses));
  EXPECT_THAT(losses_with({0, 1, 0, 1}),
              testing::Not(testing::Pointwise(testing::FloatNear(1e-2f), losses)));
}

// GeeeekExplorer/nano-vllm#170: without a conversion there was no copy, and a norm in place wrote
// into the residual stream. (The conformance suite holds every operation to leaving its inputs as
// they were.) Layers that add nothing: the stream that leaves is the one that came, to the bit.
TEST(ModelReports, NormsLeaveTheResidualStreamAlone) {
  for (const Precision precision : UsablePrecisions()) {
    for (const std::string family : {"llama", "gemma"}) {
      ModelConfig config = SmallModel();
      config.model_type = family;
      config.num_hidden_layers = 3;
      config.qk_norm = true;
      const MadeModel model(config, precision);
      for (int layer = 0; layer < 3; ++layer) {
        model.FillWeights(LayerTensor(layer, "self_attn.o_proj"), 0);
        model.FillWeights(LayerTensor(layer, "mlp.down_proj"), 0);
      }
      std::vector<double> norms = model.Trace(RandomBatch(2, 16, 31)).residual_norms;
      ASSERT_EQ(norms.size(), 5u);
      norms.pop_back();  // of the final norm
      EXPECT_GT(norms[0], 0);
      EXPECT_THAT(norms, Each(norms[0])) << family << " " << PrecisionName(precision);
    }
  }
}

TEST(ModelReports, NothingButAnOptimizerStepChangesWeights) {
  for (const Precision precision : UsablePrecisions()) {
    const MadeModel model(SmallModel(), precision);
    const auto all = [&] {
      std::vector<std::vector<float>> weights;
      for (const Tensor& tensor : model->parameters()) {
        weights.push_back(model.Weights(tensor.name));
      }
      return weights;
    };
    const auto before = all();
    const Batch batch = RandomBatch(2, 16, 31);
    model.Losses(batch);
    model.Trace(batch, {0, 5});
    ASSERT_TRUE(model->ForwardBackward(batch).ok());
    EXPECT_EQ(all(), before);
  }
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double dot = 0, a_squares = 0, b_squares = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    a_squares += static_cast<double>(a[i]) * a[i];
    b_squares += static_cast<double>(b[i]) * b[i];
  }
  return dot / std::sqrt(a_squares * b_squares);
}

// pytorch/pytorch#189581, sgl-project/sglang PR #27540: a mean square in low precision turned the
// stream a little at each norm, and after 58 layers it pointed elsewhere (a cosine of 0.51). A
// model as deep, with a coordinate that dwarfs the others, as trained ones have.
TEST(ModelReports, DeepNormsDoNotTurnTheStream) {
  ModelConfig config = SmallModel();
  config.num_hidden_layers = 58;
  config.initializer_range = 0.2;
  const MadeModel reference(config, Precision::kFloat32, "reference");
  std::vector<float> embedding = reference.Weights("model.embed_tokens.weight");
  for (size_t row = 0; row < 31; ++row) embedding[row * 16 + 3] = 40;
  reference.SetWeights("model.embed_tokens.weight", embedding);
  const Batch batch = RandomBatch(1, 16, 31);
  const ForwardTrace want = reference.Trace(batch, {0, 9, 15});
  for (const Precision precision : UsablePrecisions()) {
    const MadeModel model(config, precision);
    model.SetWeights("model.embed_tokens.weight", embedding);
    const ForwardTrace got = model.Trace(batch, {0, 9, 15});
    const bool narrow = precision == Precision::kBf16;
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_GT(Cosine(got.logits[i], want.logits[i]), narrow ? 0.999 : 0.999999) << i;
    }
    for (size_t l = 0; l < want.residual_norms.size(); ++l) {
      EXPECT_NEAR(got.residual_norms[l] / want.residual_norms[l], 1, narrow ? 1e-2 : 1e-5) << l;
    }
  }
}

ModelConfig Gemma(int hidden) {
  ModelConfig config = SmallModel();
  config.model_type = "gemma";
  config.num_hidden_layers = 1;
  config.hidden_size = hidden;
  config.num_attention_heads = config.num_key_value_heads = 1;
  config.intermediate_size = 1;
  return config;
}

double Norm(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

// huggingface/transformers PR #29402, Lightning-AI/litgpt#1031: in bfloat16, the square root of
// 3072 that embeddings are scaled by became 55.5, and 1 + w became 1.
TEST(ModelReports, GemmasScaleAndNormsAreNotRounded) {
  for (const Precision precision : UsablePrecisions()) {
    const MadeModel model(Gemma(3072), precision);
    const Batch one{1, 1, {7}, {7}, {}};
    const std::vector<float> row = Heads(model.Weights("model.embed_tokens.weight"), 3072, {7});
    const ForwardTrace plain = model.Trace(one);
    EXPECT_NEAR(plain.residual_norms[0] / Norm(row), std::sqrt(3072.0), 2e-3);  // 55.5 is 0.07 off
    model.FillWeights("model.norm.weight", 0.001f);
    const ForwardTrace scaled = model.Trace(one);
    EXPECT_NEAR(scaled.residual_norms.back() / plain.residual_norms.back(), 1.001, 1e-4);
  }
}

// The same report: GELU by erf in place of its approximation by tanh, which is what gemma was
// trained with. A model of one coordinate, whose stream is 1, then 1 + gelu(gate).
TEST(ModelReports, GemmasGeluIsTheApproximationByTanh) {
  const MadeModel model(Gemma(1));
  model.FillWeights("model.embed_tokens.weight", 1);
  model.FillWeights(LayerTensor(0, "self_attn.o_proj"), 0);
  model.FillWeights(LayerTensor(0, "mlp.up_proj"), 1);
  model.FillWeights(LayerTensor(0, "mlp.down_proj"), 1);
  for (const float gate : {-3.0f, -2.1f, -0.75f, 0.5f, 2.0f, 2.3f}) {
    model.FillWeights(LayerTensor(0, "mlp.gate_proj"), gate);
    const double z = gate / std::sqrt(1 + 1e-6);
    const double gelu =
        z / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (z + 0.044715 * z * z * z)));
    const double got = model.Trace({1, 1, {7}, {7}, {}}).residual_norms[1];
    EXPECT_NEAR(got, 1 + gelu, 3e-6) << gate;
  }
  const double apart = 2 / std::numbers::sqrt2;  // what the test could miss: they differ by 1e-4
  EXPECT_GT(std::abs((1 + std::erf(apart)) -
                     (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (2 + 0.044715 * 8)))),
            5e-5);
}

}  // namespace
}  // namespace gyre
