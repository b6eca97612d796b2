// What the heads do with their frequencies, and where they look.

#include <algorithm>

#include "trainer/model/decoder.h"

namespace gyre {
namespace {

// Adds rows of `size` numbers each to `sums`; returns where the next numbers are.
const double* AddRows(const double* from, size_t rows, size_t size, std::vector<double>* sums) {
  sums->resize(size);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < size; ++i) (*sums)[i] += *from++;
  }
  return from;
}

}  // namespace

int64_t Decoder::StatisticsSize() const {
  const int64_t heads = config_.num_attention_heads, kv_heads = config_.num_key_value_heads;
  const int64_t pairs = config_.head_dim / 2;
  return 2 * (heads + 2 * kv_heads) * pairs + 2 * heads * pairs + heads * HeadScore::kCount;
}

Status Decoder::AllocateStatistics() {
  const int64_t pairs = int64_t{config_.num_hidden_layers} * config_.head_dim;
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Allocate(pairs, &pairs_)));
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Allocate(max_rows_, &lengths_)));
  return ToStatus(backend_->Allocate(max_rows_ * StatisticsSize(), &statistics_));
}

void Decoder::WriteStatisticsTables(const Rotation& rotation, const LayerTables& layer) {
  std::vector<int32_t> pairs;
  std::vector<double> amplitudes;
  for (size_t k = 0; k < rotation.pairs.size(); ++k) {
    pairs.insert(pairs.end(), {rotation.pairs[k].first, rotation.pairs[k].second});
    amplitudes.push_back(rotation.scaled[k] ? rotation.attention_factor : 1.0);
  }
  backend_->Write(layer.pairs, pairs);
  backend_->Write(layer.amplitudes, amplitudes);
}

AttentionStatistics Decoder::StatisticsOp(size_t l, const Attention& attention) const {
  const int64_t heads = int64_t{rows_} * config_.num_attention_heads;
  const int64_t kv_heads = int64_t{rows_} * config_.num_key_value_heads;
  const int64_t pairs = config_.head_dim / 2;
  const int64_t norms = (heads + 2 * kv_heads) * pairs, contributions = heads * pairs;
  AttentionStatistics op{.attention = attention,
                         .lengths = lengths_,
                         .pairs = layers_[l].pairs,
                         .amplitudes = layers_[l].amplitudes,
                         .norms = statistics_};
  op.first_norms = op.norms.At(norms);
  op.contributions = op.first_norms.At(norms);
  op.first_contributions = op.contributions.At(contributions);
  op.scores = op.first_contributions.At(contributions);
  return op;
}

// From host_statistics_, where they lie in StatisticsOp's order.
void Decoder::AddSums(size_t l, std::span<const int32_t> lengths, AttentionSums* sums) const {
  const int window = layers_[l].window;
  for (const int32_t length : lengths) {
    sums->first_tokens += length > 0 ? 1 : 0;
    sums->other_tokens += std::max(length - 1, 0);
    for (int32_t query = 0; query < length; ++query) {
      sums->seen_keys += window > 0 ? std::min(query + 1, window) : query + 1;
    }
  }
  const auto heads = static_cast<size_t>(config_.num_attention_heads);
  const auto kv_heads = static_cast<size_t>(config_.num_key_value_heads);
  const auto pairs = static_cast<size_t>(config_.head_dim / 2);
  const size_t norms = (heads + 2 * kv_heads) * pairs, rows = lengths.size();
  const double* from = host_statistics_.data();
  from = AddRows(from, rows, norms, &sums->other_norms);
  from = AddRows(from, rows, norms, &sums->first_norms);
  from = AddRows(from, rows, heads * pairs, &sums->other_contributions);
  from = AddRows(from, rows, heads * pairs, &sums->first_contributions);
  AddRows(from, rows, heads * HeadScore::kCount, &sums->scores);
}

Status Decoder::ForwardAttention(
    const std::function<Status(size_t, const Attention&)>& look) const {
  ForwardEmbedding();
  for (size_t l = 0; l < layers_.size(); ++l) {
    const LayerOps ops = OpsOf(l, activations_.shared);
    backend_->NormQkvForward(ops.qkv);
    backend_->AttentionForward(ops.attention);
    GYRE_RETURN_IF_ERROR(look(l, ops.attention));
    if (l + 1 == layers_.size()) break;
    backend_->LinearResidualForward(ops.out);
    backend_->MlpForward(ops.mlp);
  }
  return OkStatus();
}

Status Decoder::CollectAttention(const Batch& batch, std::span<const int32_t> lengths,
                                 std::vector<AttentionSums>* sums) {
  GYRE_RETURN_IF_ERROR(CheckBatch(batch));
  const auto fits = [&batch](int32_t length) { return length >= 0 && length <= batch.length; };
  if (lengths.size() != static_cast<size_t>(batch.rows) ||
      !std::all_of(lengths.begin(), lengths.end(), fits)) {
    return InvalidArgument("statistics need a length from 0 to " + std::to_string(batch.length) +
                           " for each of " + std::to_string(batch.rows) + " rows");
  }
  if (!batch.document_starts.empty()) {
    return InvalidArgument("statistics are of rows of one document");
  }
  sums->resize(layers_.size());
  Upload(batch);
  backend_->Write(lengths_, lengths);
  host_statistics_.resize(static_cast<size_t>(rows_ * StatisticsSize()));
  return ForwardAttention([&](size_t l, const Attention& attention) -> Status {
    backend_->CollectAttentionStatistics(StatisticsOp(l, attention));
    GYRE_RETURN_IF_ERROR(ToStatus(backend_->Read(statistics_, host_statistics_)));
    AddSums(l, lengths, &(*sums)[l]);
    return OkStatus();
  });
}

Result<std::vector<AttentionTrace>> Decoder::TraceAttention(const Batch& batch) {
  GYRE_RETURN_IF_ERROR(CheckBatch(batch));
  if (batch.rows != 1) return InvalidArgument("one row is traced at a time");
  Upload(batch);
  const auto tokens = static_cast<size_t>(batch.length);
  const auto heads = static_cast<size_t>(config_.num_attention_heads);
  const auto width = (heads + 2 * static_cast<size_t>(config_.num_key_value_heads)) *
                     static_cast<size_t>(config_.head_dim);
  std::vector<AttentionTrace> traces(layers_.size());
  GYRE_RETURN_IF_ERROR(ForwardAttention([&](size_t l, const Attention& attention) -> Status {
    traces[l].qkv.resize(tokens * width);
    traces[l].log_sum_exp.resize(tokens * heads);
    GYRE_RETURN_IF_ERROR(ToStatus(backend_->Read(attention.qkv, traces[l].qkv)));
    return ToStatus(backend_->Read(attention.log_sum_exp, traces[l].log_sum_exp));
  }));
  return traces;
}

}  // namespace gyre
