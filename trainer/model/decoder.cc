#include "trainer/model/decoder.h"

#include <string>

#include "trainer/model/rotation_plan.h"

namespace gyre {

Result<std::unique_ptr<Model>> Model::Create(const ModelConfig& config,
                                             std::vector<LayerPosition> positions, Backend* backend,
                                             int max_rows, int max_length, bool training,
                                             bool recompute) {
  const Kept kept = !training ? Kept::kNothing : recompute ? Kept::kInputs : Kept::kEverything;
  return Decoder::Create(config, std::move(positions), backend, max_rows, max_length, kept);
}

Result<std::unique_ptr<Model>> Decoder::Create(const ModelConfig& config,
                                               std::vector<LayerPosition> positions,
                                               Backend* backend, int max_rows, int max_length,
                                               Kept kept) {
  if (max_rows < 1 || max_length < 1 || int64_t{max_rows} * max_length > INT32_MAX) {
    return InvalidArgument("a batch of " + std::to_string(max_rows) + " rows of " +
                           std::to_string(max_length) + " tokens is not possible");
  }
  std::unique_ptr<Decoder> model(new Decoder(config, backend, max_rows, max_length, kept));
  GYRE_ASSIGN_OR_RETURN(model->layout_, ParameterLayout::Create(config));
  GYRE_RETURN_IF_ERROR(model->CheckPositions(positions));
  for (const Parameter& parameter : model->layout_.parameters) {
    model->tensors_.push_back({parameter.name, parameter.shape, {}});
  }
  GYRE_RETURN_IF_ERROR(model->Allocate());
  GYRE_RETURN_IF_ERROR(model->SetPositions(positions));
  return std::unique_ptr<Model>(std::move(model));
}

Status Decoder::CheckPositions(const std::vector<LayerPosition>& positions) const {
  const size_t layers = layout_.layers.size();
  if (positions.size() != layers) {
    return InvalidArgument("the model has " + std::to_string(layers) +
                           " layers, and positions has " + std::to_string(positions.size()));
  }
  for (const LayerPosition& position : positions) {
    const size_t pairs = static_cast<size_t>(config_.head_dim / 2);
    const Rotation& rotation = position.rotation;
    if (rotation.frequencies.size() != pairs || rotation.pairs.size() != pairs ||
        rotation.scaled.size() != pairs) {
      return InvalidArgument("a rotation is not of the model's head_dim = " +
                             std::to_string(config_.head_dim));
    }
    const size_t slopes = position.alibi_slopes.size();
    if (slopes != 0 && slopes != static_cast<size_t>(config_.num_attention_heads)) {
      return InvalidArgument("ALiBi has " + std::to_string(slopes) + " slopes for " +
                             std::to_string(config_.num_attention_heads) + " heads");
    }
  }
  return OkStatus();
}

Decoder::Decoder(const ModelConfig& config, Backend* backend, int max_rows, int max_length,
                 Kept kept)
    : config_(config),
      backend_(backend),
      max_rows_(max_rows),
      max_length_(max_length),
      kept_(kept) {}

Decoder::~Decoder() {
  for (const Reals place : {weights_, gradients_, first_moments_, second_moments_, tables_,
                            statistics_, activations_.memory}) {
    if (place) backend_->Free(place);
  }
  if (activations_.narrow_memory) backend_->Free(activations_.narrow_memory);
  for (const Ints place : {ids_memory_, pairs_, lengths_}) {
    if (place) backend_->Free(place);
  }
}

Status Decoder::Allocate() {
  const int64_t tokens = int64_t{max_rows_} * max_length_;
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Allocate(layout_.total, &weights_)));
  if (kept_ != Kept::kNothing) {
    for (Reals* place : {&gradients_, &first_moments_, &second_moments_}) {
      GYRE_RETURN_IF_ERROR(ToStatus(backend_->Allocate(layout_.total, place)));
    }
  }
  GYRE_ASSIGN_OR_RETURN(activations_, Activations::Create(config_, tokens, kept_, backend_));
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Allocate(3 * tokens, &ids_memory_)));
  ids_ = ids_memory_;
  targets_ = ids_memory_.At(tokens);
  document_starts_ = ids_memory_.At(2 * tokens);
  host_nll_.resize(static_cast<size_t>(tokens));
  GYRE_RETURN_IF_ERROR(
      ToStatus(backend_->Allocate(LayerTableSize() * config_.num_hidden_layers, &tables_)));
  GYRE_RETURN_IF_ERROR(AllocateStatistics());
  // Last: a model that cannot fit fails at its weights, before anything is touched.
  return ToStatus(backend_->Reserve(
      {tokens, max_length_, config_.hidden_size, config_.intermediate_size, config_.vocab_size,
       config_.num_attention_heads, config_.num_key_value_heads, config_.head_dim}));
}

Status Decoder::SetPositions(const std::vector<LayerPosition>& positions) {
  GYRE_RETURN_IF_ERROR(CheckPositions(positions));
  const int64_t table = TableSize();
  layers_.clear();
  for (size_t l = 0; l < positions.size(); ++l) {
    const RotationPlan plan = PlanRotation(positions[l].rotation, max_length_);
    const auto number = static_cast<int64_t>(l);
    const Reals at = tables_.At(number * LayerTableSize());
    LayerTables layer{.rotation = {at, at.At(table), config_.head_dim / 2, plan.runs},
                      .alibi_slopes = {},
                      .window = positions[l].window,
                      .pairs = pairs_.At(number * config_.head_dim),
                      .amplitudes = at.At(2 * table + config_.num_attention_heads)};
    backend_->Write(layer.rotation.cosine, plan.cosine);
    backend_->Write(layer.rotation.sine, plan.sine);
    if (!positions[l].alibi_slopes.empty()) {
      layer.alibi_slopes = at.At(2 * table);
      backend_->Write(layer.alibi_slopes, positions[l].alibi_slopes);
    }
    WriteStatisticsTables(positions[l].rotation, layer);
    layers_.push_back(std::move(layer));
  }
  return OkStatus();
}

void Decoder::ForwardEmbedding() const { backend_->EmbeddingForward(EmbeddingOp()); }

void Decoder::Forward() const {
  ForwardEmbedding();
  for (size_t l = 0; l < layers_.size(); ++l) ForwardLayer(OpsOf(l, activations_.shared));
  backend_->NormForward(FinalNormOp());
}

void Decoder::ForwardLayer(const LayerOps& ops) const {
  backend_->NormQkvForward(ops.qkv);
  backend_->AttentionForward(ops.attention);
  backend_->LinearResidualForward(ops.out);
  backend_->MlpForward(ops.mlp);
}

// d_residual holds the gradient of the layer's output, and afterwards that of its input.
void Decoder::BackwardLayer(size_t l) const {
  const LayerOps ops = OpsOf(l, activations_.layers);
  // What the last layer computed is still there.
  if (kept_ == Kept::kInputs && l + 1 < layers_.size()) ForwardLayer(ops);
  const LayerOffsets& at = layout_.layers[l];
  const Activations& a = activations_;
  backend_->MlpBackward(ops.mlp, {a.d_residual, gradients_.At(at.post_attention_norm),
                                  gradients_.At(at.gate_up), gradients_.At(at.down)});
  backend_->LinearResidualBackward(ops.out, {a.d_residual, a.d_attention, gradients_.At(at.o)});
  backend_->AttentionBackward(ops.attention, {a.d_attention, a.d_qkv});
  NormQkvGradients qkv{
      a.d_qkv, a.d_residual, gradients_.At(at.input_norm), gradients_.At(at.qkv), {}, {}};
  if (config_.qk_norm) {
    qkv.d_q_norm = gradients_.At(at.q_norm);
    qkv.d_k_norm = gradients_.At(at.k_norm);
  }
  backend_->NormQkvBackward(ops.qkv, qkv);
}

Result<double> Decoder::ForwardBackward(const Batch& batch) {
  if (kept_ == Kept::kNothing) return FailedPrecondition("this model was not made for training");
  GYRE_RETURN_IF_ERROR(CheckBatch(batch));
  state_is_zero_ = false;
  Upload(batch);
  ForwardEmbedding();
  for (size_t l = 0; l < layers_.size(); ++l) ForwardLayer(OpsOf(l, activations_.layers));
  backend_->NormForward(FinalNormOp());
  backend_->LinearCrossEntropyForwardBackward(
      LossOp(), {activations_.d_final_normed, gradients_.At(layout_.head)});
  backend_->NormBackward(FinalNormOp(), activations_.d_final_normed, activations_.d_residual,
                         gradients_.At(layout_.final_norm));
  for (size_t l = layers_.size(); l-- > 0;) BackwardLayer(l);
  backend_->EmbeddingBackward(EmbeddingOp(), activations_.d_residual,
                              gradients_.At(layout_.embedding));
  const std::span<double> nll(host_nll_.data(), batch.tokens.size());
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Read(activations_.nll, nll)));
  double sum = 0;
  for (const double value : nll) sum += value;
  return sum;
}

Status Decoder::SumGradients(Communicator& ranks) {
  if (kept_ == Kept::kNothing) return FailedPrecondition("this model was not made for training");
  state_is_zero_ = false;
  backend_->AllReduce(gradients_, layout_.total, ranks);
  return OkStatus();
}

Status Decoder::Evaluate(const Batch& batch, std::span<float> nll) {
  GYRE_RETURN_IF_ERROR(CheckBatch(batch));
  if (nll.size() != batch.tokens.size()) {
    return InvalidArgument("nll has " + std::to_string(nll.size()) + " places for " +
                           std::to_string(batch.tokens.size()) + " tokens");
  }
  Upload(batch);
  Forward();
  backend_->LinearCrossEntropyForward(LossOp());
  const std::span<double> values(host_nll_.data(), nll.size());
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Read(activations_.nll, values)));
  for (size_t i = 0; i < nll.size(); ++i) nll[i] = static_cast<float>(values[i]);
  return OkStatus();
}

Result<ForwardTrace> Decoder::Trace(const Batch& batch, std::span<const int> places) {
  GYRE_RETURN_IF_ERROR(CheckBatch(batch));
  GYRE_RETURN_IF_ERROR(CheckPlaces(batch, places));
  Upload(batch);
  const int64_t count = int64_t{rows_} * length_ * config_.hidden_size;
  ForwardTrace trace;
  const auto note = [&](Reals residual) -> Status {
    GYRE_ASSIGN_OR_RETURN(const double norm, Norm2(residual, count));
    trace.residual_norms.push_back(norm);
    return OkStatus();
  };
  ForwardEmbedding();
  GYRE_RETURN_IF_ERROR(note(activations_.layers[0].x));
  for (size_t l = 0; l < layers_.size(); ++l) {
    const LayerOps ops = OpsOf(l, activations_.shared);
    ForwardLayer(ops);
    GYRE_RETURN_IF_ERROR(note(ops.mlp.y));
  }
  backend_->NormForward(FinalNormOp());
  GYRE_RETURN_IF_ERROR(note(activations_.final_normed));

  Reals logits;
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Allocate(config_.vocab_size, &logits)));
  std::vector<double> row(config_.vocab_size);
  Status status;
  for (const int place : places) {
    backend_->Linear(1, config_.hidden_size, config_.vocab_size,
                     activations_.final_normed.At(int64_t{place} * config_.hidden_size),
                     weights_.At(layout_.head), logits);
    status = ToStatus(backend_->Read(logits, row));
    if (!status.ok()) break;
    trace.logits.emplace_back(row.begin(), row.end());
  }
  backend_->Free(logits);
  GYRE_RETURN_IF_ERROR(status);
  return trace;
}

Result<double> Decoder::OptimizerStep(const OptimizerConfig& optimizer, double lr, int64_t step,
                                      int64_t target_count) {
  if (kept_ == Kept::kNothing) return FailedPrecondition("this model was not made for training");
  if (optimizer.name != "adamw") {
    return InvalidArgument("train.optimizer.name: '" + optimizer.name + "' is not adamw");
  }
  if (step < 1 || target_count < 1) {
    return InvalidArgument("an optimizer step needs step and target_count of at least 1, and got " +
                           std::to_string(step) + " and " + std::to_string(target_count));
  }
  state_is_zero_ = false;
  AdamW op{.count = layout_.matrices,
           .step = step,
           .lr = lr,
           .beta1 = optimizer.beta1,
           .beta2 = optimizer.beta2,
           .epsilon = optimizer.eps,
           .weight_decay = optimizer.weight_decay,
           .clip_norm = optimizer.clip_norm,
           .gradient_scale = 1.0 / static_cast<double>(target_count),
           .gradient = gradients_,
           .gradient_norm = activations_.scalar,
           .weight = weights_,
           .first_moment = first_moments_,
           .second_moment = second_moments_};
  backend_->Norm2(gradients_, layout_.total, op.gradient_norm);
  backend_->AdamWStep(op);
  for (Reals* place : {&op.gradient, &op.weight, &op.first_moment, &op.second_moment}) {
    *place = place->At(layout_.matrices);
  }
  op.count = layout_.total - layout_.matrices;
  op.weight_decay = 0;
  backend_->AdamWStep(op);
  double norm = 0;
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Read(op.gradient_norm, {&norm, 1})));
  return norm * op.gradient_scale;
}

Status Decoder::ZeroGradients() {
  if (kept_ == Kept::kNothing) return FailedPrecondition("this model was not made for training");
  backend_->Zero(gradients_, layout_.total);
  return OkStatus();
}

Result<double> Decoder::Norm2(Reals x, int64_t count) const {
  backend_->Norm2(x, count, activations_.scalar);
  double norm = 0;
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Read(activations_.scalar, {&norm, 1})));
  return norm;
}

}  // namespace gyre
