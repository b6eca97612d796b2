#pragma once

// The Model: order of operations over a ParameterLayout and Activations.

#include <functional>
#include <memory>
#include <vector>

#include "trainer/model/activations.h"
#include "trainer/model/model.h"
#include "trainer/model/parameters.h"

namespace gyre {

class Decoder : public Model {
 public:
  /// See Model::Create.
  static Result<std::unique_ptr<Model>> Create(const ModelConfig& config,
                                               std::vector<LayerPosition> positions,
                                               Backend* backend, int max_rows, int max_length,
                                               Kept kept);
  ~Decoder() override;

  Status SetPositions(const std::vector<LayerPosition>& positions) override;
  const std::vector<Tensor>& parameters() const override { return tensors_; }
  Status InitializeWeights(uint64_t seed, int threads) override;
  Status Load(TensorKind kind, const std::string& name, std::span<const float> values) override;
  Status Save(TensorKind kind, const std::string& name, std::span<float> values) const override;
  Status ZeroGradients() override;
  Result<double> ForwardBackward(const Batch& batch) override;
  Status SumGradients(Communicator& ranks) override;
  Status Evaluate(const Batch& batch, std::span<float> nll) override;
  Result<std::vector<Prediction>> Predict(const Batch& batch, std::span<const int> places) override;
  Result<ForwardTrace> Trace(const Batch& batch, std::span<const int> places) override;
  Status CollectAttention(const Batch& batch, std::span<const int32_t> lengths,
                          std::vector<AttentionSums>* sums) override;
  Result<std::vector<AttentionTrace>> TraceAttention(const Batch& batch) override;
  Result<double> OptimizerStep(const OptimizerConfig& optimizer, double lr, int64_t step,
                               int64_t target_count) override;

 private:
  // What a layer's position encoding needs in the backend.
  struct LayerTables {
    RotationTable rotation;
    Reals alibi_slopes;
    int window = 0;
    Ints pairs;        // as AttentionStatistics has them
    Reals amplitudes;  // likewise
  };
  // The operations of one layer for the batch at hand: built anew for each, a few structs of
  // numbers.
  struct LayerOps {
    NormQkv qkv;
    Attention attention;
    LinearResidual out;
    Mlp mlp;
  };

  Decoder(const ModelConfig& config, Backend* backend, int max_rows, int max_length, Kept kept);
  Status Allocate();
  Status AllocateStatistics();
  Status CheckPositions(const std::vector<LayerPosition>& positions) const;
  Status Locate(TensorKind kind, const std::string& name, size_t values, Reals* place) const;
  Status CheckBatch(const Batch& batch) const;
  void Upload(const Batch& batch);
  void WriteReals(Reals to, std::span<const float> values);

  // Numbers in a layer's table of cosines.
  int64_t TableSize() const { return int64_t{max_length_} * (config_.head_dim / 2); }
  // Of everything that a layer has in tables_: cosines, sines, slopes, amplitudes.
  int64_t LayerTableSize() const {
    return 2 * TableSize() + config_.num_attention_heads + config_.head_dim / 2;
  }
  bool gemma() const { return config_.model_type == "gemma"; }
  NormKind norm() const { return {config_.rms_norm_eps, gemma()}; }
  Embedding EmbeddingOp() const;
  using LayersActivations = std::vector<LayerActivations>;
  LayerOps OpsOf(size_t layer, const LayersActivations& all) const;
  void SetAttentionOps(size_t layer, const LayerActivations& own, LayerOps* ops) const;
  Norm FinalNormOp() const;
  LinearCrossEntropy LossOp() const;

  // Numbers of AttentionStatistics for a row of a batch.
  int64_t StatisticsSize() const;
  AttentionStatistics StatisticsOp(size_t layer, const Attention& attention) const;
  void WriteStatisticsTables(const Rotation& rotation, const LayerTables& layer);
  void AddSums(size_t layer, std::span<const int32_t> lengths, AttentionSums* sums) const;
  // Through all layers as far as their attention, and `look` at each.
  Status ForwardAttention(const std::function<Status(size_t, const Attention&)>& look) const;

  Status CheckPlaces(const Batch& batch, std::span<const int> places) const;
  // From the batch at hand to final_normed.
  void Forward() const;
  void ForwardEmbedding() const;
  void ForwardLayer(const LayerOps& ops) const;
  void BackwardLayer(size_t layer) const;
  Result<double> Norm2(Reals x, int64_t count) const;

  const ModelConfig config_;
  Backend* const backend_;
  const int max_rows_, max_length_;
  const Kept kept_;
  ParameterLayout layout_;
  std::vector<Tensor> tensors_;
  Reals weights_, gradients_, first_moments_, second_moments_;  // (layout_.total) each
  bool state_is_zero_ = true;  // gradients and moments: nothing was ever added to them
  Reals tables_;               // rotations and slopes of all layers
  std::vector<LayerTables> layers_;
  Ints pairs_, lengths_;  // of all layers; of the rows at hand
  Reals statistics_;      // of one layer: read before the next one writes it
  std::vector<double> host_statistics_;
  Activations activations_;
  Ints ids_memory_, ids_, targets_, document_starts_;
  std::vector<double> host_nll_;
  // The batch at hand.
  int rows_ = 0, length_ = 0;
  bool masks_documents_ = false;
};

}  // namespace gyre
