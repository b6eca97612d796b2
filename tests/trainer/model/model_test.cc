#include "trainer/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "trainer/backend/create_backend.h"
#include "trainer/model/activations.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;

ModelConfig Small() {
  ModelConfig model;
  model.vocab_size = 31;
  model.num_hidden_layers = 2;
  model.hidden_size = 16;
  model.intermediate_size = 24;
  model.num_attention_heads = 2;
  model.num_key_value_heads = 1;
  model.head_dim = 8;
  return model;
}

struct Made {
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
  Model* operator->() const { return model.get(); }
};

Made Make(const ModelConfig& config, int threads = 1, bool training = true, int rows = 4,
          int length = 80, const PositionConfig& position = {},
          Precision precision = Precision::kFloat32) {
  auto backend = CreateBackend("cpu", threads, precision);
  auto positions = ResolvePositions(position, config, length);
  EXPECT_TRUE(backend.ok() && positions.ok()) << positions.status();
  auto model = Model::Create(config, *positions, backend->get(), rows, length, training);
  EXPECT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE((*model)->InitializeWeights(1, 1).ok());
  return {std::move(*backend), std::move(*model)};
}

Batch RandomBatch(int rows, int length, uint64_t seed = 1) {
  Batch batch{rows, length, {}, {}, {}};
  const Random random(seed, "batch");
  for (uint64_t i = 0; i < static_cast<uint64_t>(rows) * static_cast<uint64_t>(length); ++i) {
    batch.tokens.push_back(static_cast<int32_t>(random.Below(31, 0, i)));
    batch.targets.push_back(static_cast<int32_t>(random.Below(31, 1, i)));
  }
  return batch;
}

std::vector<float> All(const Made& made, TensorKind kind) {
  std::vector<float> all;
  for (const Tensor& tensor : made->parameters()) {
    size_t count = 1;
    for (const int64_t size : tensor.shape) count *= static_cast<size_t>(size);
    std::vector<float> values(count);
    EXPECT_TRUE(made->Save(kind, tensor.name, values).ok());
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

std::vector<float> Nll(const Made& made, const Batch& batch) {
  std::vector<float> nll(batch.tokens.size());
  EXPECT_TRUE(made->Evaluate(batch, nll).ok());
  return nll;
}

void TrainSteps(const Made& made, int steps) {
  for (int step = 1; step <= steps; ++step) {
    const Batch batch = RandomBatch(4, 80, static_cast<uint64_t>(step));
    ASSERT_TRUE(made->ZeroGradients().ok());
    ASSERT_TRUE(made->ForwardBackward(batch).ok());
    ASSERT_TRUE(made->OptimizerStep({}, 1e-2, step, 320).ok());
  }
}

TEST(Model, WeightsAreAFunctionOfSeedAndName) {
  const Made one = Make(Small()), again = Make(Small(), 2);
  EXPECT_EQ(All(one, TensorKind::kWeight), All(again, TensorKind::kWeight));
  // A model with one layer less has the same tensors where it has them.
  ModelConfig shallow = Small();
  shallow.num_hidden_layers = 1;
  const Made other = Make(shallow);
  for (const Tensor& tensor : other->parameters()) {
    size_t count = 1;
    for (const int64_t size : tensor.shape) count *= static_cast<size_t>(size);
    std::vector<float> a(count), b(count);
    ASSERT_TRUE(one->Save(TensorKind::kWeight, tensor.name, a).ok());
    ASSERT_TRUE(other->Save(TensorKind::kWeight, tensor.name, b).ok());
    EXPECT_EQ(a, b) << tensor.name;
  }
  ASSERT_TRUE(again->InitializeWeights(2, 1).ok());
  EXPECT_NE(All(one, TensorKind::kWeight), All(again, TensorKind::kWeight));
}

TEST(Model, NormsBeginAtTheirIdentity) {
  for (const char* family : {"llama", "gemma"}) {
    ModelConfig config = Small();
    config.model_type = family;
    config.qk_norm = true;
    const Made made = Make(config);
    for (const Tensor& tensor : made->parameters()) {
      if (tensor.shape.size() != 1) continue;
      std::vector<float> values(static_cast<size_t>(tensor.shape[0]));
      ASSERT_TRUE(made->Save(TensorKind::kWeight, tensor.name, values).ok());
      const bool zero =
          config.model_type == "gemma" && tensor.name.find("self_attn") == std::string::npos;
      EXPECT_EQ(values, std::vector<float>(values.size(), zero ? 0.0f : 1.0f)) << tensor.name;
    }
  }
}

TEST(Model, MatricesHaveTheStandardDeviationAskedFor) {
  ModelConfig config = Small();
  config.vocab_size = 2000;
  config.initializer_range = 0.05;
  const Made made = Make(config);
  std::vector<float> values(2000 * 16);
  ASSERT_TRUE(made->Save(TensorKind::kWeight, "model.embed_tokens.weight", values).ok());
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  EXPECT_NEAR(std::sqrt(squares / 32000), 0.05, 0.05 * 4 / std::sqrt(2.0 * 32000));
}

Made MakeIn(Precision precision, int threads = 1, bool training = true) {
  return Make(Small(), threads, training, 4, 80, {}, UsablePrecision("cpu", precision));
}

TEST(Model, RecomputedLayersGiveTheSameBitsAndTakeLessMemory) {
  ModelConfig config = Small();
  config.num_hidden_layers = 3;
  config.qk_norm = true;
  const Made kept = Make(config);
  Made again{*CreateBackend("cpu", 1), nullptr};
  again.model =
      *Model::Create(config, *ResolvePositions({}, config, 80), again.backend.get(), 4, 80,
                     /*training=*/true, /*recompute=*/true);
  ASSERT_TRUE(again->InitializeWeights(1, 1).ok());
  TrainSteps(kept, 2);
  TrainSteps(again, 2);
  for (const TensorKind kind : {TensorKind::kWeight, TensorKind::kGradient}) {
    EXPECT_EQ(All(kept, kind), All(again, kind));
  }
  const auto numbers = [&](Kept how) {
    const ActivationSizes sizes = SizesOfActivations(config, 320, how);
    return sizes.reals + sizes.narrows;
  };
  EXPECT_LT(numbers(Kept::kInputs), numbers(Kept::kEverything) * 6 / 10);
}

constexpr Precision kPrecisions[] = {Precision::kFloat32, Precision::kBf16};

TEST(Model, TheSameStepsGiveTheSameBits) {
  for (const Precision precision : kPrecisions) {
    for (const int threads : {1, 2}) {
      const Made one = MakeIn(precision, threads), two = MakeIn(precision, threads);
      TrainSteps(one, 3);
      TrainSteps(two, 3);
      EXPECT_EQ(All(one, TensorKind::kWeight), All(two, TensorKind::kWeight));
    }
  }
}

TEST(Model, AnMlpWithoutAGateHasTwoMatrices) {
  ModelConfig config = Small();
  config.mlp = "plain";
  const Made made = Make(config);
  int64_t total = 0;
  for (const Tensor& tensor : made->parameters()) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    total += count;
    EXPECT_EQ(tensor.name.find("gate_proj"), std::string::npos) << tensor.name;
  }
  EXPECT_EQ(total, ParameterCount(config));
  TrainSteps(made, 2);
}

// Save and Load carry everything that a step depends on.
TEST(Model, GoesOnFromSavedTensorsBitForBit) {
  const Made whole = Make(Small());
  TrainSteps(whole, 2);
  const Made resumed = Make(Small());
  for (const Tensor& tensor : whole->parameters()) {
    for (const TensorKind kind :
         {TensorKind::kWeight, TensorKind::kFirstMoment, TensorKind::kSecondMoment}) {
      size_t count = 1;
      for (const int64_t size : tensor.shape) count *= static_cast<size_t>(size);
      std::vector<float> values(count);
      ASSERT_TRUE(whole->Save(kind, tensor.name, values).ok());
      ASSERT_TRUE(resumed->Load(kind, tensor.name, values).ok());
    }
  }
  const Batch batch = RandomBatch(4, 80, 9);
  for (const Made* made : {&whole, &resumed}) {
    ASSERT_TRUE((*made)->ZeroGradients().ok());
    ASSERT_TRUE((*made)->ForwardBackward(batch).ok());
    ASSERT_TRUE((*made)->OptimizerStep({}, 1e-2, 3, 320).ok());
  }
  EXPECT_EQ(All(whole, TensorKind::kWeight), All(resumed, TensorKind::kWeight));
}

// What batches a model has seen, or what shape they had, leaves nothing behind.
TEST(Model, BatchesLeaveNothingBehind) {
  const Made fresh = Make(Small()), used = Make(Small());
  Batch documents = RandomBatch(3, 70, 5);
  documents.document_starts.assign(210, 0);
  ASSERT_TRUE(used->ForwardBackward(documents).ok());
  Nll(used, RandomBatch(1, 3));
  ASSERT_TRUE(used->ZeroGradients().ok());
  const Batch batch = RandomBatch(2, 33);
  EXPECT_EQ(Nll(fresh, batch), Nll(used, batch));
  ASSERT_TRUE(fresh->ForwardBackward(batch).ok());
  ASSERT_TRUE(used->ForwardBackward(batch).ok());
  EXPECT_EQ(All(fresh, TensorKind::kGradient), All(used, TensorKind::kGradient));
}

TEST(Model, EvaluationIsTheSameWithAndWithoutTraining) {
  const Batch batch = RandomBatch(4, 80);
  for (const Precision precision : kPrecisions) {
    EXPECT_EQ(Nll(MakeIn(precision), batch), Nll(MakeIn(precision, 1, /*training=*/false), batch));
  }
}

// Several models take turns on one backend, also where it keeps their weights in another form.
TEST(Model, AModelThatIsGoneLeavesNothingBehind) {
  const Batch batch = RandomBatch(4, 80);
  for (const Precision precision : kPrecisions) {
    const Made first = MakeIn(precision);
    const std::vector<float> nll = Nll(first, batch);
    const auto positions = *ResolvePositions({}, Small(), 80);
    for (const uint64_t seed : {2, 1}) {
      auto other = Model::Create(Small(), positions, first.backend.get(), 4, 80, false);
      ASSERT_TRUE(other.ok()) << other.status();
      ASSERT_TRUE((*other)->InitializeWeights(seed, 1).ok());
      std::vector<float> theirs(batch.tokens.size());
      ASSERT_TRUE((*other)->Evaluate(batch, theirs).ok());
      EXPECT_EQ(theirs == nll, seed == 1);
    }
    EXPECT_EQ(Nll(first, batch), nll);
  }
}

TEST(Model, MicroBatchesAddUp) {
  const Made whole = Make(Small()), parts = Make(Small());
  Batch batch = RandomBatch(4, 20);
  for (size_t i = 0; i < 13; ++i) batch.targets[i] = -1;  // unevenly spread
  const double sum = *whole->ForwardBackward(batch);
  double added = 0;
  for (int row = 0; row < 4; ++row) {
    Batch one{1, 20, {}, {}, {}};
    one.tokens.assign(batch.tokens.begin() + row * 20, batch.tokens.begin() + row * 20 + 20);
    one.targets.assign(batch.targets.begin() + row * 20, batch.targets.begin() + row * 20 + 20);
    added += *parts->ForwardBackward(one);
  }
  EXPECT_NEAR(added, sum, 1e-5 * sum);
  const auto a = All(whole, TensorKind::kGradient), b = All(parts, TensorKind::kGradient);
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-4);
}

// Packed documents are independent: each has the losses that it has alone, where positions do not
// matter.
TEST(Model, DocumentsDoNotSeeEachOther) {
  PositionConfig nope;
  nope.common.type = "nope";
  const Made made = Make(Small(), 1, false, 4, 80, nope);
  const std::vector<int> starts = {0, 7, 8, 70};
  Batch packed = RandomBatch(1, 80);
  packed.document_starts.resize(80);
  for (const int start : starts) {
    std::fill(packed.document_starts.begin() + start, packed.document_starts.end(), start);
  }
  const std::vector<float> together = Nll(made, packed);
  for (size_t d = 0; d < starts.size(); ++d) {
    const int begin = starts[d], end = d + 1 < starts.size() ? starts[d + 1] : 80;
    Batch alone{1, end - begin, {}, {}, {}};
    alone.tokens.assign(packed.tokens.begin() + begin, packed.tokens.begin() + end);
    alone.targets.assign(packed.targets.begin() + begin, packed.targets.begin() + end);
    const std::vector<float> nll = Nll(made, alone);
    for (int t = begin; t < end; ++t) {
      EXPECT_NEAR(together[static_cast<size_t>(t)], nll[static_cast<size_t>(t - begin)], 1e-5);
    }
  }
}

TEST(Model, DecayHoldsOnMatricesAlone) {
  const Made made = Make(Small());
  const std::vector<float> before = All(made, TensorKind::kWeight);
  Batch ignored = RandomBatch(1, 5);
  ignored.targets.assign(5, -1);
  ASSERT_TRUE(made->ForwardBackward(ignored).ok());
  OptimizerConfig optimizer;
  optimizer.weight_decay = 0.5;
  ASSERT_TRUE(made->OptimizerStep(optimizer, 0.1, 1, 5).ok());  // without a gradient, decay is all
  const std::vector<float> after = All(made, TensorKind::kWeight);
  size_t at = 0;
  for (const Tensor& tensor : made->parameters()) {
    size_t count = 1;
    for (const int64_t size : tensor.shape) count *= static_cast<size_t>(size);
    for (size_t end = at + count; at < end; ++at) {
      const float want = tensor.shape.size() == 2 ? before[at] * 0.95f : before[at];
      ASSERT_NEAR(after[at], want, 1e-7) << tensor.name;
    }
  }
}

TEST(Model, ClippingLimitsTheStep) {
  const Made made = Make(Small());
  ASSERT_TRUE(made->ForwardBackward(RandomBatch(4, 80)).ok());
  OptimizerConfig optimizer;
  optimizer.clip_norm = 1e-3;
  const auto norm = made->OptimizerStep(optimizer, 1e-2, 1, 320);
  ASSERT_TRUE(norm.ok());
  EXPECT_GT(*norm, 1e-2);  // before clipping
  double squares = 0;
  for (const float m : All(made, TensorKind::kFirstMoment)) squares += static_cast<double>(m) * m;
  EXPECT_NEAR(std::sqrt(squares), (1 - optimizer.beta1) * 1e-3, 1e-8);
}

TEST(Model, AnEvaluationModelDoesNotTrain) {
  const Made made = Make(Small(), 1, /*training=*/false);
  EXPECT_EQ(made->ForwardBackward(RandomBatch(1, 4)).status().code(),
            StatusCode::kFailedPrecondition);
  EXPECT_EQ(made->OptimizerStep({}, 1, 1, 1).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(made->ZeroGradients().code(), StatusCode::kFailedPrecondition);
  std::vector<float> norm(16);
  EXPECT_EQ(made->Save(TensorKind::kGradient, "model.norm.weight", norm).code(),
            StatusCode::kFailedPrecondition);
}

TEST(Model, BadBatchesAreNamed) {
  const Made made = Make(Small());
  const auto message = [&](const std::function<void(Batch&)>& spoil) {
    Batch batch = RandomBatch(2, 10);
    spoil(batch);
    const Status status = made->ForwardBackward(batch).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_EQ(message([](Batch& b) { b.tokens[13] = 31; }),
            "batch row 1, place 3: token 31 is not in a vocabulary of 31");
  EXPECT_THAT(message([](Batch& b) { b.tokens[0] = -1; }), HasSubstr("token -1"));
  EXPECT_THAT(message([](Batch& b) { b.targets[0] = -2; }), HasSubstr("target -2"));
  EXPECT_THAT(message([](Batch& b) { b.targets.pop_back(); }), HasSubstr("20 each"));
  EXPECT_THAT(message([](Batch& b) { b.rows = 5; }), HasSubstr("5 rows"));
  EXPECT_THAT(message([](Batch& b) { b.length = 0; }), HasSubstr("0 tokens"));
  EXPECT_THAT(message([](Batch& b) { b.document_starts.assign(20, 1); }),
              HasSubstr("document start of 1"));
  EXPECT_THAT(message([](Batch& b) {
                b.document_starts.assign(20, 0);
                b.document_starts[5] = 4;
              }),
              HasSubstr("place 6"));
}

TEST(Model, BadShapesAndPositionsAreNamed) {
  auto backend = CreateBackend("cpu", 1);
  ASSERT_TRUE(backend.ok());
  const auto message = [&](const std::function<void(ModelConfig&)>& spoil) {
    ModelConfig config = Small();
    auto positions = ResolvePositions({}, config, 8);
    spoil(config);
    const Status status = Model::Create(config, *positions, backend->get(), 1, 8, true).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_THAT(message([](ModelConfig& m) { m.vocab_size = 0; }), HasSubstr("model.vocab_size"));
  EXPECT_THAT(message([](ModelConfig& m) { m.num_key_value_heads = 3; }),
              HasSubstr("does not divide"));
  EXPECT_THAT(message([](ModelConfig& m) { m.model_type = "bert"; }), HasSubstr("'bert'"));
  EXPECT_THAT(message([](ModelConfig& m) { m.num_hidden_layers = 3; }), HasSubstr("3 layers"));
  EXPECT_THAT(message([](ModelConfig& m) { m.head_dim = 4; }), HasSubstr("head_dim"));
  ModelConfig huge = Small();
  huge.vocab_size = huge.hidden_size = 1 << 24;
  auto positions = ResolvePositions({}, huge, 8);
  EXPECT_EQ(Model::Create(huge, *positions, backend->get(), 1, 8, true).status().code(),
            StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace gyre
