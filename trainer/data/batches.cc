#include "trainer/data/batches.h"

#include <algorithm>

namespace gyre {
namespace {

// Ceiling of a*b/c for products that may not fit 64 bits.
int64_t CeilOfRatio(int64_t a, int64_t b, int64_t c) {
  const auto product = static_cast<__int128>(a) * b;
  return static_cast<int64_t>((product + c - 1) / c);
}

}  // namespace

Batches::Batches(const Dataset* dataset, int context, bool masked, int rows_per_step, uint64_t seed)
    : dataset_(dataset),
      context_(context),
      masked_(masked),
      rows_per_step_(rows_per_step),
      documents_(seed, "data/documents"),
      rows_(seed, "data/rows") {}

Result<Batches> Batches::Create(const Dataset* dataset, int context, const std::string& packing,
                                int64_t batch_tokens, uint64_t seed) {
  if (context < 1) return InvalidArgument("data.context must be at least 1");
  if (batch_tokens < context || batch_tokens % context != 0 || batch_tokens / context > INT32_MAX) {
    return InvalidArgument("train.batch_tokens (" + std::to_string(batch_tokens) +
                           ") must be a multiple of data.context (" + std::to_string(context) +
                           ")");
  }
  if (packing != "documents" && packing != "stream") {
    return InvalidArgument("data.packing must be documents or stream, not '" + packing + "'");
  }
  return Batches(dataset, context, packing == "documents", static_cast<int>(batch_tokens / context),
                 seed);
}

const Batches::Epoch& Batches::EpochOf(int64_t number) {
  Epoch& epoch = epochs_[static_cast<size_t>(number % 2)];
  if (epoch.number == number) return epoch;
  const auto starts = dataset_->document_starts();
  const uint64_t count = starts.size();
  epoch.number = number;
  epoch.ends.resize(count);
  uint64_t end = 0;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t document = PermutedIndex(documents_, static_cast<uint64_t>(number), count, k);
    const uint64_t next =
        document + 1 < count ? starts[document + 1] : static_cast<uint64_t>(dataset_->tokens());
    end += next - starts[document];
    epoch.ends[k] = end;
  }
  return epoch;
}

Batches::Place Batches::Find(int64_t position) {
  const int64_t tokens = dataset_->tokens();
  const int64_t number = position / tokens;
  const Epoch& epoch = EpochOf(number);
  const auto within = static_cast<uint64_t>(position % tokens);
  const auto k = static_cast<uint64_t>(
      std::upper_bound(epoch.ends.begin(), epoch.ends.end(), within) - epoch.ends.begin());
  const uint64_t document =
      PermutedIndex(documents_, static_cast<uint64_t>(number), epoch.ends.size(), k);
  Place place;
  place.begin = number * tokens + static_cast<int64_t>(k == 0 ? 0 : epoch.ends[k - 1]);
  place.end = number * tokens + static_cast<int64_t>(epoch.ends[k]);
  place.source = static_cast<int64_t>(dataset_->document_starts()[document]);
  return place;
}

int64_t Batches::RowAt(int64_t index) const {
  // Epoch e's rows are those that begin in [e*N, (e+1)*N), and so the rows ceil(e*N/T) ..
  // ceil((e+1)*N/T)-1. An epoch shorter than a row may have none.
  const int64_t tokens = dataset_->tokens();
  const auto first_row = [&](int64_t epoch) { return CeilOfRatio(epoch, tokens, context_); };
  const int64_t epoch = static_cast<int64_t>(static_cast<__int128>(index) * context_ / tokens);
  const int64_t first = first_row(epoch), count = first_row(epoch + 1) - first;
  return first + static_cast<int64_t>(PermutedIndex(rows_, static_cast<uint64_t>(epoch),
                                                    static_cast<uint64_t>(count),
                                                    static_cast<uint64_t>(index - first)));
}

Status Batches::FillRow(int64_t row, int32_t* tokens, int32_t* targets, int32_t* starts) {
  const int64_t first = row * context_, end = first + context_ + 1;  // and the last token's target
  ids_.resize(static_cast<size_t>(context_) + 1);
  for (int64_t position = first; position < end;) {
    const Place place = Find(position);
    const int64_t piece_end = std::min(place.end, end);
    const auto at = static_cast<size_t>(position - first);
    const auto count = static_cast<size_t>(piece_end - position);
    GYRE_RETURN_IF_ERROR(dataset_->Read(place.source + (position - place.begin),
                                        std::span(ids_).subspan(at, count)));
    for (size_t i = at; i < at + count; ++i) {
      if (i > 0) targets[i - 1] = masked_ && i == at ? -1 : ids_[i];
      if (masked_ && i < static_cast<size_t>(context_)) {
        starts[i] = static_cast<int32_t>(std::max<int64_t>(place.begin - first, 0));
      }
    }
    position = piece_end;
  }
  std::copy(ids_.begin(), ids_.end() - 1, tokens);
  return OkStatus();
}

Status Batches::Fill(int64_t step, int first_row, int rows, Batch* batch) {
  const size_t size = static_cast<size_t>(rows) * static_cast<size_t>(context_);
  batch->rows = rows;
  batch->length = context_;
  batch->tokens.resize(size);
  batch->targets.resize(size);
  batch->document_starts.resize(masked_ ? size : 0);
  for (int r = 0; r < rows; ++r) {
    const int64_t row = RowAt((step - 1) * rows_per_step_ + first_row + r);
    const size_t at = static_cast<size_t>(r) * static_cast<size_t>(context_);
    GYRE_RETURN_IF_ERROR(FillRow(row, &batch->tokens[at], &batch->targets[at],
                                 masked_ ? &batch->document_starts[at] : nullptr));
  }
  return OkStatus();
}

}  // namespace gyre
