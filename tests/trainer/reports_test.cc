// Faults that users of other trainers have reported in public, held against this one. Others stand
// where they belong: EleutherAI/gpt-neox#1003's frequencies in position_test, karpathy/nanochat#775
// in schedule_test, huggingface/transformers#38837 also in trainer_test.

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

#include "base/hash.h"
#include "tests/trainer/data/made_dataset.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/backend/create_backend.h"
#include "trainer/data/batches.h"
#include "trainer/model/model.h"
#include "trainer/model/rotation_plan.h"
#include "trainer/position/rotation.h"

namespace gyre {
namespace {

Rotation RotationOf(const EncodingConfig& encoding, int head_dim) {
  ModelConfig model;
  model.num_hidden_layers = model.num_attention_heads = 1;
  model.head_dim = head_dim;
  PositionConfig position;
  position.common = encoding;
  return ResolvePositions(position, model, 8)->front().rotation;
}

// Values that the backend holds, in its own precision.
class Buffers {
 public:
  explicit Buffers(Backend* backend) : backend_(backend) {}
  ~Buffers() {
    for (const Reals place : places_) backend_->Free(place);
    for (const Narrows place : narrow_places_) backend_->Free(place);
  }
  Reals Put(const std::vector<double>& values) {
    Reals place;
    EXPECT_TRUE(backend_->Allocate(static_cast<int64_t>(values.size()), &place).ok());
    backend_->Write(place, values);
    places_.push_back(place);
    return place;
  }
  Narrows NarrowZeros(size_t count) {
    Narrows place;
    EXPECT_TRUE(backend_->Allocate(static_cast<int64_t>(count), &place).ok());
    narrow_places_.push_back(place);
    return place;
  }
  template <typename Element>
  std::vector<double> Get(Place<Element> place, size_t count) const {
    std::vector<double> values(count);
    EXPECT_TRUE(backend_->Read(place, values).ok());
    return values;
  }

 private:
  Backend* backend_;
  std::vector<Reals> places_;
  std::vector<Narrows> narrow_places_;
};

// EleutherAI/gpt-neox#1003: tables made in the model's precision are off by radians at positions
// above a few hundred.
TEST(Reports, TablesAreRightAtLongPositionsInThePrecisionOfTraining) {
  constexpr int kLength = 131072;
  const Rotation rotation = RotationOf({.theta = 500000}, 16);
  const RotationPlan plan = PlanRotation(rotation, kLength);
  for (const char* name : {"cpu", "reference"}) {
    const auto backend = CreateBackend(name, 1);
    ASSERT_TRUE(backend.ok());
    Buffers buffers(backend->get());
    const auto cosine = buffers.Get(buffers.Put(plan.cosine), plan.cosine.size());
    const auto sine = buffers.Get(buffers.Put(plan.sine), plan.sine.size());
    for (const int t : {0, 1, 1857, 2048, 4096, 65535, kLength - 1}) {
      for (size_t k = 0; k < 8; ++k) {
        const long double angle = t * powl(500000.0L, -2.0L * static_cast<long double>(k) / 16);
        const size_t at = static_cast<size_t>(t) * 8 + k;
        EXPECT_NEAR(cosine[at], static_cast<double>(cosl(angle)), 1e-7) << t << " " << k;
        EXPECT_NEAR(sine[at], static_cast<double>(sinl(angle)), 1e-7) << t << " " << k;
      }
    }
  }
}

// The query of one head at `places` of a row, where every token has this vector (its root mean
// square is 1, so that the norm leaves it alone).
constexpr int kHeadDim = 16;
const std::vector<double> kVector = {0.5,  -1.25, 0.75, 2,  -0.25, 1,   -1.5, 0.25,
                                     1.25, -0.75, 0.75, -1, 0.25,  1.5, 0,    -0.5};

std::vector<std::vector<double>> Turned(const EncodingConfig& encoding,
                                        const std::vector<int>& places) {
  const auto backend = CreateBackend("cpu", 1);
  EXPECT_TRUE(backend.ok());
  const int length = places.back() + 1;
  EXPECT_TRUE((*backend)->Reserve({length, length, kHeadDim, 1, 1, 1, 1, kHeadDim}).ok());
  const RotationPlan plan = PlanRotation(RotationOf(encoding, kHeadDim), length);
  std::vector<double> x, identity(3 * kHeadDim * kHeadDim);
  for (int t = 0; t < length; ++t) x.insert(x.end(), kVector.begin(), kVector.end());
  for (size_t row = 0; row < 3 * kHeadDim; ++row) identity[row * kHeadDim + row % kHeadDim] = 1;
  Buffers buffers(backend->get());
  const size_t size = static_cast<size_t>(length) * 3 * kHeadDim;
  const RotationTable table{buffers.Put(plan.cosine), buffers.Put(plan.sine), kHeadDim / 2,
                            plan.runs};
  const NormQkv op{.rows = 1,
                   .length = length,
                   .hidden = kHeadDim,
                   .heads = 1,
                   .kv_heads = 1,
                   .head_dim = kHeadDim,
                   .kind = {.epsilon = 0},
                   .x = buffers.Put(x),
                   .norm_weight = buffers.Put(std::vector<double>(kHeadDim, 1.0)),
                   .weight = buffers.Put(identity),
                   .q_norm = {},
                   .k_norm = {},
                   .rotation = &table,
                   .inverse_rms = buffers.Put(std::vector<double>(static_cast<size_t>(length))),
                   .qkv = buffers.NarrowZeros(size),
                   .raw_qk = {},
                   .qk_inverse_rms = {}};
  (*backend)->NormQkvForward(op);
  const std::vector<double> qkv = buffers.Get(op.qkv, size);
  std::vector<std::vector<double>> turned;
  for (const int t : places) {
    const auto begin = qkv.begin() + static_cast<std::ptrdiff_t>(t) * 3 * kHeadDim;
    turned.emplace_back(begin, begin + kHeadDim);
  }
  return turned;
}

void ExpectTurned(const std::vector<double>& turned, const std::map<size_t, double>& golden) {
  for (size_t i = 0; i < kHeadDim; ++i) {
    const auto found = golden.find(i);
    if (found == golden.end()) {
      EXPECT_EQ(turned[i], kVector[i]) << "coordinate " << i << " does not rotate";
    } else {
      EXPECT_NEAR(turned[i], found->second, 1e-6) << "coordinate " << i;
    }
  }
}

// NVIDIA-NeMo/Megatron-Bridge#4195: p-RoPE's frequencies were right, and turned the pairs (k, k +
// n) for the n kept ones in place of (k, k + d / 2). AI-Hypercomputer/maxtext#4616: the share was
// ignored. pie-project/pie#602: one of the two conventions of a share p in place of the other; they
// agree at position 0 and drift apart with the distance.
TEST(Reports, BothConventionsOfAShareTurnTheirOwnPairs) {
  const auto truncated = Turned({.p = 0.25}, {0, 700, 2355});
  ExpectTurned(truncated[0], {});
  ExpectTurned(truncated[1], {{0, -1.0995153}, {8, -0.7768951}, {1, 0.5911765}, {9, -1.3324828}});
  ExpectTurned(truncated[2], {{0, 1.3462793}, {8, -0.0056547}, {1, 1.1155501}, {9, 0.9383752}});
  const auto respaced = Turned({.p = 0.25, .spacing = "respaced"}, {0, 700, 2355});
  ExpectTurned(respaced[0], {});
  ExpectTurned(respaced[1], {{0, -0.8275301}, {2, -0.357343}, {1, -2.256351}, {3, 0.6865713}});
  ExpectTurned(respaced[2], {{0, 0.8812651}, {2, -0.1893985}, {1, 2.0147881}, {3, 1.2260216}});
}

ModelConfig Small(bool tied) {
  ModelConfig model;
  model.vocab_size = 31;
  model.num_hidden_layers = 2;
  model.hidden_size = 16;
  model.intermediate_size = 24;
  model.num_attention_heads = model.num_key_value_heads = 2;
  model.head_dim = 8;
  model.tie_word_embeddings = tied;
  return model;
}

struct Made {
  explicit Made(const ModelConfig& config) : backend(*CreateBackend("cpu", 1)) {
    model = *Model::Create(config, *ResolvePositions({}, config, 12), backend.get(), 5, 12,
                           /*training=*/true);
    EXPECT_TRUE(model->InitializeWeights(1, 1).ok());
  }
  std::vector<float> Get(TensorKind kind, const std::string& name, size_t count) const {
    std::vector<float> values(count);
    EXPECT_TRUE(model->Save(kind, name, values).ok()) << name;
    return values;
  }
  std::unique_ptr<Backend> backend;
  std::unique_ptr<Model> model;
};

// Rows first .. last-1 of a batch of 5 rows, a third of whose targets are ignored, unevenly.
Batch Rows(int first, int last) {
  Batch batch{last - first, 12, {}, {}, {}};
  for (int row = first; row < last; ++row) {
    for (int t = 0; t < 12; ++t) {
      batch.tokens.push_back((row * 5 + t * 7) % 31);
      batch.targets.push_back(t < 2 * row ? -1 : (row * 3 + t * 11) % 31);
    }
  }
  return batch;
}

// huggingface/transformers#38837: the last accumulation window has fewer micro-batches, and its
// loss and gradient were divided as if it had all.
TEST(Reports, ARaggedAccumulationIsTheGradientOfTheWhole) {
  const ModelConfig config = Small(true);
  const Made whole(config), parts(config);
  const double loss = *whole.model->ForwardBackward(Rows(0, 5));
  double added = 0;
  for (const auto& [first, last] : {std::pair(0, 2), std::pair(2, 4), std::pair(4, 5)}) {
    added += *parts.model->ForwardBackward(Rows(first, last));
  }
  EXPECT_NEAR(added, loss, 1e-6 * loss);
  for (const Tensor& tensor : whole.model->parameters()) {
    size_t count = 1;
    for (const int64_t size : tensor.shape) count *= static_cast<size_t>(size);
    const auto a = whole.Get(TensorKind::kGradient, tensor.name, count);
    const auto b = parts.Get(TensorKind::kGradient, tensor.name, count);
    double scale = 0;
    for (const float value : a) scale = std::max(scale, std::abs(static_cast<double>(value)));
    for (size_t i = 0; i < count; ++i) EXPECT_NEAR(b[i], a[i], 1e-6 * (1 + scale)) << tensor.name;
  }
}

// paiml/entrenar#314: a tied embedding had two gradients, two optimizer steps, and drifted apart.
TEST(Reports, ATiedEmbeddingHasOneGradientAndOneMoment) {
  const Made tied(Small(true)), untied(Small(false));
  const std::string embedding = "model.embed_tokens.weight", head = "lm_head.weight";
  const size_t count = 31 * 16;
  for (const Tensor& tensor : tied.model->parameters()) EXPECT_NE(tensor.name, head);
  std::vector<float> none(count);
  EXPECT_EQ(tied.model->Save(TensorKind::kSecondMoment, head, none).code(), StatusCode::kNotFound);

  // The same function with two matrices: the gradient of the one is the sum of theirs.
  ASSERT_TRUE(
      untied.model->Load(TensorKind::kWeight, head, tied.Get(TensorKind::kWeight, embedding, count))
          .ok());
  const double loss = *tied.model->ForwardBackward(Rows(0, 5));
  EXPECT_EQ(*untied.model->ForwardBackward(Rows(0, 5)), loss);
  const auto sum = tied.Get(TensorKind::kGradient, embedding, count);
  const auto in = untied.Get(TensorKind::kGradient, embedding, count);
  const auto out = untied.Get(TensorKind::kGradient, head, count);
  for (size_t i = 0; i < count; ++i) EXPECT_NEAR(sum[i], in[i] + out[i], 1e-4) << i;

  // After a step both uses have the new weights: a model that is given them computes the same.
  OptimizerConfig optimizer;
  ASSERT_TRUE(tied.model->OptimizerStep(optimizer, 0.1, 1, 40).ok());
  const Made loaded(Small(true));
  for (const Tensor& tensor : tied.model->parameters()) {
    size_t size = 1;
    for (const int64_t n : tensor.shape) size *= static_cast<size_t>(n);
    ASSERT_TRUE(loaded.model
                    ->Load(TensorKind::kWeight, tensor.name,
                           tied.Get(TensorKind::kWeight, tensor.name, size))
                    .ok());
  }
  std::vector<float> here(60), there(60);
  ASSERT_TRUE(tied.model->Evaluate(Rows(0, 5), here).ok());
  ASSERT_TRUE(loaded.model->Evaluate(Rows(0, 5), there).ok());
  EXPECT_EQ(here, there);
}

class SeenBatches : public TemporaryHomeTest {};

// paiml/entrenar#294: the loader's place was not saved, and a resumed job began the text anew.
TEST_F(SeenBatches, AResumedJobSeesWhatAnUninterruptedOneDoes) {
  std::vector<std::string> documents;
  for (int d = 0; d < 7; ++d)
    documents.push_back(std::string(20 + 9 * static_cast<size_t>(d), 'a' + d));
  const std::string hash = MakeDataset(home_, documents);
  const auto dataset = Dataset::Open(home_, hash);
  ASSERT_TRUE(dataset.ok());
  constexpr int kSteps = 24;  // three epochs
  // The hash of all batches, by a process that is killed and begins anew before each of `restarts`.
  const auto seen = [&](const std::set<int>& restarts) {
    Sha256 sum;
    std::unique_ptr<Batches> batches;
    Batch batch;
    for (int step = 1; step <= kSteps; ++step) {
      if (batches == nullptr || restarts.contains(step)) {
        batches = std::make_unique<Batches>(
            *Batches::Create({{&*dataset, 1}}, 16, "documents", 48, /*seed=*/9));
      }
      EXPECT_TRUE(batches->Fill(step, 0, 3, &batch).ok());
      sum.Update(batch.tokens.data(), batch.tokens.size() * sizeof(int32_t));
      sum.Update(batch.targets.data(), batch.targets.size() * sizeof(int32_t));
    }
    return sum.Finish();
  };
  const std::string whole = seen({});
  for (int step = 1; step <= kSteps; ++step) EXPECT_EQ(seen({step}), whole) << step;
  EXPECT_EQ(seen({2, 3, 11, 24}), whole);
}

}  // namespace
}  // namespace gyre
