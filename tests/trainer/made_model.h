#pragma once

// A small model with random weights, for tests that look at all of it.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "trainer/backend/create_backend.h"
#include "trainer/model/model.h"
#include "trainer/position/rotation.h"

namespace gyre {

inline ModelConfig SmallModel() {
  ModelConfig model;
  model.vocab_size = 31;
  model.num_hidden_layers = 2;
  model.hidden_size = 16;
  model.intermediate_size = 24;
  model.num_attention_heads = 4;
  model.num_key_value_heads = 2;
  model.head_dim = 4;
  return model;
}

inline Batch RandomBatch(int rows, int length, int vocab, uint64_t seed = 1) {
  Batch batch{rows, length, {}, {}, {}};
  const Random random(seed, "batch");
  const auto size = static_cast<uint64_t>(vocab);
  for (uint64_t i = 0; i < static_cast<uint64_t>(rows) * static_cast<uint64_t>(length); ++i) {
    batch.tokens.push_back(static_cast<int32_t>(random.Below(size, 0, i)));
    batch.targets.push_back(static_cast<int32_t>(random.Below(size, 1, i)));
  }
  return batch;
}

/// Those that this machine computes in.
inline std::vector<Precision> UsablePrecisions() {
  std::vector<Precision> usable = {Precision::kFloat32};
  if (UsablePrecision("cpu", Precision::kBf16) == Precision::kBf16) {
    usable.push_back(Precision::kBf16);
  }
  return usable;
}

class MadeModel {
 public:
  /// For training on up to 4 rows of 16 tokens.
  explicit MadeModel(const ModelConfig& config, Precision precision = Precision::kFloat32,
                     const std::string& backend = "cpu")
      : backend_(*CreateBackend(backend, 1, precision)),
        model_(*Model::Create(config, *ResolvePositions({}, config, 16), backend_.get(), 4, 16,
                              /*training=*/true)) {
    EXPECT_TRUE(model_->InitializeWeights(1, 1).ok());
  }
  Model* operator->() const { return model_.get(); }

  std::vector<float> Get(TensorKind kind, const std::string& name) const {
    std::vector<float> values(CountOf(name));
    EXPECT_TRUE(model_->Save(kind, name, values).ok()) << name;
    return values;
  }
  std::vector<float> Weights(const std::string& name) const {
    return Get(TensorKind::kWeight, name);
  }
  void SetWeights(const std::string& name, const std::vector<float>& values) const {
    EXPECT_TRUE(model_->Load(TensorKind::kWeight, name, values).ok()) << name;
  }
  void FillWeights(const std::string& name, float value) const {
    SetWeights(name, std::vector<float>(CountOf(name), value));
  }
  std::vector<float> Losses(const Batch& batch) const {
    std::vector<float> nll(batch.tokens.size());
    EXPECT_TRUE(model_->Evaluate(batch, nll).ok());
    return nll;
  }
  ForwardTrace Trace(const Batch& batch, const std::vector<int>& places = {}) const {
    auto trace = model_->Trace(batch, places);
    EXPECT_TRUE(trace.ok()) << trace.status();
    return *std::move(trace);
  }

 private:
  size_t CountOf(const std::string& name) const {
    size_t count = 1;
    for (const Tensor& tensor : model_->parameters()) {
      if (tensor.name != name) continue;
      for (const int64_t size : tensor.shape) count *= static_cast<size_t>(size);
    }
    return count;
  }

  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
};

inline std::string LayerTensor(int layer, const std::string& name) {
  return "model.layers." + std::to_string(layer) + "." + name + ".weight";
}

}  // namespace gyre
