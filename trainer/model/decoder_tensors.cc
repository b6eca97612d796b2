// The Decoder's traffic with the host: tensors in and out, batches in.

#include <algorithm>
#include <string>
#include <system_error>
#include <thread>

#include "base/random.h"
#include "trainer/model/decoder.h"

namespace gyre {
namespace {

// Values cross to the backend in pieces of this many, so that a large tensor needs no second copy.
constexpr size_t kPiece = size_t{1} << 16;
// A thread draws so many at a time; for fewer, starting it takes longer than it saves.
constexpr int64_t kDrawn = 1 << 17, kWorthAThread = 1 << 15;

Status At(size_t index, const Batch& batch, const std::string& what) {
  const size_t length = static_cast<size_t>(batch.length);
  return InvalidArgument("batch row " + std::to_string(index / length) + ", place " +
                         std::to_string(index % length) + ": " + what);
}

/// Each number is a function of its place, so it does not matter who draws it.
void DrawNormals(const Random& random, int64_t first, double scale, int threads,
                 std::span<float> out) {
  const auto count = static_cast<int64_t>(out.size());
  const int64_t parts = std::clamp<int64_t>(count / kWorthAThread, 1, threads);
  const auto draw = [&](int64_t part) {
    const int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    random.ScaledNormals(0, static_cast<uint64_t>(first + begin), scale,
                         out.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  };
  std::vector<std::thread> others;
  for (int64_t part = 1; part < parts; ++part) {
    try {
      others.emplace_back(draw, part);
    } catch (const std::system_error&) {  // the system gives no more threads
      draw(part);
    }
  }
  draw(0);
  for (std::thread& other : others) other.join();
}

}  // namespace

void Decoder::WriteReals(Reals to, std::span<const float> values) {
  std::vector<double> piece(std::min(kPiece, values.size()));
  for (size_t i = 0; i < values.size(); i += kPiece) {
    const size_t count = std::min(kPiece, values.size() - i);
    std::copy_n(values.begin() + static_cast<int64_t>(i), count, piece.begin());
    backend_->Write(to.At(static_cast<int64_t>(i)), {piece.data(), count});
  }
}

Status Decoder::InitializeWeights(uint64_t seed, int threads) {
  // Bringing memory into being takes longer than what follows, and here all of the backend's
  // threads do it.
  if (threads > 1) backend_->Zero(weights_, layout_.total);
  std::vector<float> values;
  for (const Parameter& parameter : layout_.parameters) {
    const bool matrix = parameter.shape.size() == 2;
    const bool qk_norm = parameter.name.find("self_attn.") != std::string::npos;
    const float identity = gemma() && !qk_norm ? 0 : 1;
    const Random random(seed, "weights/" + parameter.name);
    for (int64_t i = 0; i < parameter.count; i += threads * kDrawn) {
      values.resize(static_cast<size_t>(std::min<int64_t>(threads * kDrawn, parameter.count - i)));
      if (matrix) {
        DrawNormals(random, i, config_.initializer_range, threads, values);
      } else {
        std::fill(values.begin(), values.end(), identity);
      }
      WriteReals(weights_.At(parameter.offset + i), values);
    }
  }
  // What Allocate gave is zeros, and writing them once more would bring its memory into being.
  if (kept_ == Kept::kNothing || state_is_zero_) return OkStatus();
  state_is_zero_ = true;
  for (const Reals place : {gradients_, first_moments_, second_moments_}) {
    backend_->Zero(place, layout_.total);
  }
  return OkStatus();
}

Status Decoder::Locate(TensorKind kind, const std::string& name, size_t values,
                       Reals* place) const {
  const Parameter* parameter = layout_.Find(name);
  if (parameter == nullptr) return NotFound("the model has no tensor '" + name + "'");
  if (values != static_cast<size_t>(parameter->count)) {
    return InvalidArgument("tensor '" + name + "' has " + std::to_string(parameter->count) +
                           " values, not " + std::to_string(values));
  }
  switch (kind) {
    case TensorKind::kWeight:
      *place = weights_;
      break;
    case TensorKind::kGradient:
      *place = gradients_;
      break;
    case TensorKind::kFirstMoment:
      *place = first_moments_;
      break;
    case TensorKind::kSecondMoment:
      *place = second_moments_;
      break;
  }
  if (!*place) return FailedPrecondition("this model was not made for training");
  *place = place->At(parameter->offset);
  return OkStatus();
}

Status Decoder::Load(TensorKind kind, const std::string& name, std::span<const float> values) {
  Reals place;
  GYRE_RETURN_IF_ERROR(Locate(kind, name, values.size(), &place));
  if (kind != TensorKind::kWeight) state_is_zero_ = false;
  WriteReals(place, values);
  return OkStatus();
}

Status Decoder::Save(TensorKind kind, const std::string& name, std::span<float> values) const {
  Reals place;
  GYRE_RETURN_IF_ERROR(Locate(kind, name, values.size(), &place));
  std::vector<double> piece(std::min(kPiece, values.size()));
  for (size_t i = 0; i < values.size(); i += kPiece) {
    const size_t count = std::min(kPiece, values.size() - i);
    GYRE_RETURN_IF_ERROR(
        ToStatus(backend_->Read(place.At(static_cast<int64_t>(i)), {piece.data(), count})));
    for (size_t j = 0; j < count; ++j) values[i + j] = static_cast<float>(piece[j]);
  }
  return OkStatus();
}

Status Decoder::CheckBatch(const Batch& batch) const {
  if (batch.rows < 1 || batch.rows > max_rows_ || batch.length < 1 || batch.length > max_length_) {
    return InvalidArgument("a batch of " + std::to_string(batch.rows) + " rows of " +
                           std::to_string(batch.length) + " tokens; the model was made for up to " +
                           std::to_string(max_rows_) + " of " + std::to_string(max_length_));
  }
  const size_t tokens = static_cast<size_t>(batch.rows) * static_cast<size_t>(batch.length);
  if (batch.tokens.size() != tokens || batch.targets.size() != tokens ||
      (!batch.document_starts.empty() && batch.document_starts.size() != tokens)) {
    return InvalidArgument("a batch needs one token, target and document start a place, " +
                           std::to_string(tokens) + " each");
  }
  for (size_t i = 0; i < tokens; ++i) {
    if (batch.tokens[i] < 0 || batch.tokens[i] >= config_.vocab_size) {
      return At(i, batch,
                "token " + std::to_string(batch.tokens[i]) + " is not in a vocabulary of " +
                    std::to_string(config_.vocab_size));
    }
    if (batch.targets[i] < -1 || batch.targets[i] >= config_.vocab_size) {
      return At(i, batch,
                "target " + std::to_string(batch.targets[i]) + " is not in a vocabulary of " +
                    std::to_string(config_.vocab_size));
    }
    if (batch.document_starts.empty()) continue;
    const int place = static_cast<int>(i % static_cast<size_t>(batch.length));
    const int start = batch.document_starts[i];
    const int before = place == 0 ? 0 : batch.document_starts[i - 1];
    if (start < before || start > place) {
      return At(i, batch,
                "a document start of " + std::to_string(start) + " after one of " +
                    std::to_string(before));
    }
  }
  return OkStatus();
}

void Decoder::Upload(const Batch& batch) {
  rows_ = batch.rows;
  length_ = batch.length;
  masks_documents_ = !batch.document_starts.empty();
  backend_->Write(ids_, batch.tokens);
  backend_->Write(targets_, batch.targets);
  if (masks_documents_) backend_->Write(document_starts_, batch.document_starts);
}

}  // namespace gyre
