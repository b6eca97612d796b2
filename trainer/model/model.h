#pragma once

// The decoder-only transformer: owns the order of the backend's calls, never touches data itself.
// Weights, gradients and the optimizer's moments are flat buffers in the backend, all matrices
// first, then all norms; everything is planned once at Create, and no step allocates. Families and
// formulas: tests/trainer/reference/README.md. One thread drives a Model; several models may take
// turns on one backend.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/backend/backend.h"
#include "trainer/config/job_config.h"
#include "trainer/model/attention_sums.h"
#include "trainer/model/batch.h"
#include "trainer/position/rotation.h"

namespace gyre {

/// Host copy of one named tensor.
struct Tensor {
  std::string name;  // Hugging Face's, e.g. "model.layers.0.self_attn.q_proj.weight"
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// What a forward pass looks like inside, to find the first layer that differs from somebody
/// else's.
struct ForwardTrace {
  /// 2-norms over the whole (B, T, C) residual stream: after the embedding (scaled for gemma),
  /// after each layer, and after the final norm.
  std::vector<double> residual_norms;
  std::vector<std::vector<float>> logits;  // (V) for each place asked for
};

/// What a model says of one place.
struct Prediction {
  double nll = 0;      // of its target
  bool right = false;  // whether the target is the most likely token, the first of equals
};

enum class TensorKind { kWeight, kGradient, kFirstMoment, kSecondMoment };

class Model {
 public:
  /// `max_rows` x `max_length` bounds every batch. `training` false plans no gradients and no
  /// moments. `recompute`: of each layer only what goes in is kept for the way back; the rest is
  /// computed again, with the same bits.
  static Result<std::unique_ptr<Model>> Create(const ModelConfig& config,
                                               std::vector<LayerPosition> positions,
                                               Backend* backend, int max_rows, int max_length,
                                               bool training, bool recompute = false);
  virtual ~Model() = default;

  /// From now on tokens stand where `positions` says; weights and moments stay. INVALID_ARGUMENT:
  /// not of this model's shapes.
  virtual Status SetPositions(const std::vector<LayerPosition>& positions) = 0;

  /// Names and shapes of the parameters, in the order of the flat buffers.
  virtual const std::vector<Tensor>& parameters() const = 0;  // without values

  /// Weight = f(seed, tensor name), a float in every backend: normal with std initializer_range
  /// (all matrices alike), the norms' identity. Forgets the optimizer's moments and the gradients.
  /// `threads` of the host draw them, and change nothing but the time it takes.
  virtual Status InitializeWeights(uint64_t seed, int threads) = 0;
  /// NOT_FOUND: no such tensor. INVALID_ARGUMENT: another number of values. FAILED_PRECONDITION:
  /// not a training model.
  virtual Status Load(TensorKind kind, const std::string& name, std::span<const float> values) = 0;
  virtual Status Save(TensorKind kind, const std::string& name, std::span<float> values) const = 0;

  virtual Status ZeroGradients() = 0;
  /// Adds the gradient of the batch's summed negative log-likelihood to the gradients; returns that
  /// sum (nats).
  virtual Result<double> ForwardBackward(const Batch& batch) = 0;
  /// Every rank's gradients become their sum.
  virtual Status SumGradients(Communicator& ranks) = 0;
  /// Forward only: nll of every place (B, T), 0 where ignored.
  virtual Status Evaluate(const Batch& batch, std::span<float> nll) = 0;
  /// Forward only: of each of `places`, each b * T + t of a token with a target, ascending.
  virtual Result<std::vector<Prediction>> Predict(const Batch& batch,
                                                  std::span<const int> places) = 0;
  /// Forward only, looking inside; logits at `places`, each b * T + t.
  virtual Result<ForwardTrace> Trace(const Batch& batch, std::span<const int> places) = 0;
  /// Forward only: adds to `sums`, one a layer, what the heads did with the first lengths[row]
  /// tokens of each row, 0 .. T; the others are padding. Empty sums begin at 0. INVALID_ARGUMENT:
  /// the rows are cut into documents.
  virtual Status CollectAttention(const Batch& batch, std::span<const int32_t> lengths,
                                  std::vector<AttentionSums>* sums) = 0;
  /// Forward only, of one row: what its tokens were, for each layer.
  virtual Result<std::vector<AttentionTrace>> TraceAttention(const Batch& batch) = 0;
  /// Divides the accumulated gradient by `target_count`, clips, updates. `step` counts from 1.
  /// Returns the gradient's 2-norm before clipping.
  virtual Result<double> OptimizerStep(const OptimizerConfig& optimizer, double lr, int64_t step,
                                       int64_t target_count) = 0;
};

}  // namespace gyre
