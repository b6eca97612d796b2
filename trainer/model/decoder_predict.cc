// Which token a Decoder thinks most likely, place by place: logits, which Evaluate never has.

#include <algorithm>
#include <cmath>

#include "trainer/model/decoder.h"

namespace gyre {
namespace {

constexpr int64_t kMostLogits = 1 << 20;  // at a time
constexpr int64_t kMostPlaces = 64;

Prediction PredictionOf(std::span<const double> logits, int32_t target) {
  const auto most = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - *most);
  const double own = logits[static_cast<size_t>(target)];
  return {.nll = std::log(sum) + *most - own, .right = most - logits.begin() == target};
}

}  // namespace

Status Decoder::CheckPlaces(const Batch& batch, std::span<const int> places) const {
  for (const int place : places) {
    if (place < 0 || static_cast<size_t>(place) >= batch.tokens.size()) {
      return InvalidArgument("no place " + std::to_string(place) + " in the batch");
    }
  }
  return OkStatus();
}

Result<std::vector<Prediction>> Decoder::Predict(const Batch& batch, std::span<const int> places) {
  GYRE_RETURN_IF_ERROR(CheckBatch(batch));
  GYRE_RETURN_IF_ERROR(CheckPlaces(batch, places));
  for (size_t i = 0; i < places.size(); ++i) {
    if (batch.targets[static_cast<size_t>(places[i])] < 0) {
      return InvalidArgument("the place " + std::to_string(places[i]) + " has no target");
    }
    if (i > 0 && places[i] <= places[i - 1]) return InvalidArgument("the places do not ascend");
  }
  Upload(batch);
  Forward();
  // Neighbours at once, as far as they go.
  const int vocab = config_.vocab_size;
  const auto most = static_cast<size_t>(std::clamp<int64_t>(kMostLogits / vocab, 1, kMostPlaces));
  Reals logits;
  GYRE_RETURN_IF_ERROR(ToStatus(backend_->Allocate(static_cast<int64_t>(most) * vocab, &logits)));
  std::vector<Prediction> predictions;
  std::vector<double> values;
  Status status;
  for (size_t first = 0, end = 0; first < places.size() && status.ok(); first = end) {
    for (end = first + 1;
         end < places.size() && end - first < most && places[end] == places[end - 1] + 1;) {
      ++end;
    }
    const size_t count = end - first;
    backend_->Linear(static_cast<int64_t>(count), config_.hidden_size, vocab,
                     activations_.final_normed.At(int64_t{places[first]} * config_.hidden_size),
                     weights_.At(layout_.head), logits);
    values.resize(count * static_cast<size_t>(vocab));
    status = ToStatus(backend_->Read(logits, values));
    for (size_t i = 0; i < count && status.ok(); ++i) {
      const std::span<const double> row(&values[i * static_cast<size_t>(vocab)],
                                        static_cast<size_t>(vocab));
      predictions.push_back(
          PredictionOf(row, batch.targets[static_cast<size_t>(places[first + i])]));
    }
  }
  backend_->Free(logits);
  GYRE_RETURN_IF_ERROR(status);
  return predictions;
}

}  // namespace gyre
