#include "trainer/data/batches.h"

#include <algorithm>
#include <span>

namespace gyre {

Result<Batches> Batches::Create(const std::vector<WeightedText>& texts, int context,
                                const std::string& packing, int64_t batch_tokens, uint64_t seed) {
  if (context < 1) return InvalidArgument("data.context must be at least 1");
  if (batch_tokens < context || batch_tokens % context != 0 || batch_tokens / context > INT32_MAX) {
    return InvalidArgument("train.batch_tokens (" + std::to_string(batch_tokens) +
                           ") must be a multiple of data.context (" + std::to_string(context) +
                           ")");
  }
  if (packing != "documents" && packing != "stream") {
    return InvalidArgument("data.packing must be documents or stream, not '" + packing + "'");
  }
  std::vector<double> weights;
  for (const WeightedText& text : texts) weights.push_back(text.weight);
  GYRE_ASSIGN_OR_RETURN(TextShares shares, TextShares::Create(weights, seed));
  const bool masked = packing == "documents";
  Batches batches(std::move(shares), context, masked, static_cast<int>(batch_tokens / context));
  for (const WeightedText& text : texts) {
    GYRE_ASSIGN_OR_RETURN(TextRows rows, TextRows::Create(text.dataset, context, masked, seed));
    batches.texts_.push_back(std::move(rows));
  }
  return batches;
}

Status Batches::Fill(int64_t step, int first_row, int rows, Batch* batch) {
  const auto length = static_cast<size_t>(context_), size = static_cast<size_t>(rows) * length;
  batch->rows = rows;
  batch->length = context_;
  batch->tokens.resize(size);
  batch->targets.resize(size);
  batch->document_starts.resize(masked_ ? size : 0);
  for (int r = 0; r < rows; ++r) {
    const TextShares::Row row = shares_.At((step - 1) * rows_per_step_ + first_row + r);
    const size_t at = static_cast<size_t>(r) * length;
    const std::span<int32_t> starts(batch->document_starts);
    GYRE_RETURN_IF_ERROR(texts_[row.text].Fill(row.index,
                                               std::span(batch->tokens).subspan(at, length),
                                               std::span(batch->targets).subspan(at, length),
                                               masked_ ? starts.subspan(at, length) : starts));
  }
  // Said in the simplest way, which is also the quickest to compute.
  const auto inner = [](int32_t start) { return start > 0; };
  if (std::none_of(batch->document_starts.begin(), batch->document_starts.end(), inner)) {
    batch->document_starts.clear();
  }
  return OkStatus();
}

}  // namespace gyre
