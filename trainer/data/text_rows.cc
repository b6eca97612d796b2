#include "trainer/data/text_rows.h"

#include <algorithm>

namespace gyre {
namespace {

// Ceiling of a*b/c for products that may not fit 64 bits.
int64_t CeilOfRatio(int64_t a, int64_t b, int64_t c) {
  const auto product = static_cast<__int128>(a) * b;
  return static_cast<int64_t>((product + c - 1) / c);
}

}  // namespace

TextRows::TextRows(const Dataset* dataset, int context, bool masked, uint64_t seed)
    : dataset_(dataset),
      context_(context),
      masked_(masked),
      epoch_length_(dataset->tokens() - (masked ? dataset->info().documents : 0)),
      documents_(seed, "data/documents"),
      rows_(seed, "data/rows") {}

Result<TextRows> TextRows::Create(const Dataset* dataset, int context, bool masked, uint64_t seed) {
  TextRows rows(dataset, context, masked, seed);
  if (rows.epoch_length_ == 0) {
    return InvalidArgument("the data set " + dataset->info().name + " has no text to train on");
  }
  GYRE_RETURN_IF_ERROR(dataset->Read(0, {&rows.document_start_, 1}));
  return rows;
}

const TextRows::Epoch& TextRows::EpochOf(int64_t number) {
  Epoch& epoch = epochs_[static_cast<size_t>(number % 2)];
  if (epoch.number == number) return epoch;
  const auto starts = dataset_->document_starts();
  const uint64_t count = starts.size();
  epoch.number = number;
  epoch.ends.resize(count);
  int64_t end = 0;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t document = PermutedIndex(documents_, static_cast<uint64_t>(number), count, k);
    const int64_t next =
        document + 1 < count ? static_cast<int64_t>(starts[document + 1]) : dataset_->tokens();
    end += next - static_cast<int64_t>(starts[document]) - (masked_ ? 1 : 0);
    epoch.ends[k] = end;
  }
  return epoch;
}

TextRows::Place TextRows::Find(int64_t position) {
  const int64_t number = position / epoch_length_, epoch_begin = number * epoch_length_;
  const Epoch& epoch = EpochOf(number);
  const auto k = static_cast<size_t>(
      std::upper_bound(epoch.ends.begin(), epoch.ends.end(), position - epoch_begin) -
      epoch.ends.begin());
  const uint64_t document =
      PermutedIndex(documents_, static_cast<uint64_t>(number), epoch.ends.size(), k);
  Place place;
  place.begin = epoch_begin + (k == 0 ? 0 : epoch.ends[k - 1]);
  place.end = epoch_begin + epoch.ends[k];
  place.source = static_cast<int64_t>(dataset_->document_starts()[document]) + (masked_ ? 1 : 0);
  return place;
}

int64_t TextRows::RowAt(int64_t index) const {
  // Epoch e of N targets has the rows that begin in [e*N, (e+1)*N), and so the rows ceil(e*N/T) ..
  // ceil((e+1)*N/T)-1. An epoch shorter than a row may have none.
  const auto first_row = [&](int64_t epoch) { return CeilOfRatio(epoch, epoch_length_, context_); };
  const auto epoch = static_cast<int64_t>(static_cast<__int128>(index) * context_ / epoch_length_);
  const int64_t first = first_row(epoch), count = first_row(epoch + 1) - first;
  return first + static_cast<int64_t>(PermutedIndex(rows_, static_cast<uint64_t>(epoch),
                                                    static_cast<uint64_t>(count),
                                                    static_cast<uint64_t>(index - first)));
}

Status TextRows::Fill(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets,
                      std::span<int32_t> starts) {
  const int64_t first = RowAt(index) * context_;
  for (size_t at = 0; at < targets.size();) {
    const int64_t position = first + static_cast<int64_t>(at);
    const Place place = Find(position);
    const size_t count = std::min(static_cast<size_t>(place.end - position), targets.size() - at);
    GYRE_RETURN_IF_ERROR(
        dataset_->Read(place.source + (position - place.begin), targets.subspan(at, count)));
    tokens[at] = at == 0 || masked_ ? document_start_ : targets[at - 1];
    std::copy_n(targets.begin() + at, count - 1, tokens.begin() + at + 1);
    if (masked_) std::fill_n(starts.begin() + at, count, static_cast<int32_t>(at));
    at += count;
  }
  return OkStatus();
}

}  // namespace gyre
