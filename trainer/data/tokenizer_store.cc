#include "trainer/data/tokenizer_store.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "trainer/data/request_index.h"
#include "trainer/data/requested_text.h"
#include "trainer/data/sentencepiece.h"
#include "trainer/data/source_files.h"
#include "trainer/data/text_chunks.h"
#include "trainer/data/tokenizer_json.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr char kSampling[] = "sample 1";  // raise when the same text would give another sample
constexpr uint64_t kBlockBytes = 1 << 14;

// One of the texts that a tokenizer is trained on.
struct TrainingText {
  RequestedText text;
  std::string part;
  double weight = 1, holdout = 0;
};

Result<std::vector<TrainingText>> TextsOf(const fs::path& home, const TokenizerRequest& request) {
  std::vector<TrainingText> texts;
  for (const Json& item : request.on.is_array() ? request.on : Json::array()) {
    if (!item.is_object() || !item.contains("source")) continue;
    TrainingText text;
    GYRE_ASSIGN_OR_RETURN(text.text, ResolveText(home, item["source"], {}));
    text.part = item.value("part", "train");
    text.weight = item.value("weight", 1.0);
    text.holdout = text.text.HoldoutFor(text.part, request.holdout);
    texts.push_back(std::move(text));
  }
  if (texts.empty()) return InvalidArgument("a tokenizer is to be trained on no text");
  return texts;
}

std::string StampOf(const std::vector<TrainingText>& texts) {
  std::string stamp = kSampling;
  for (const TrainingText& text : texts) stamp += ", " + text.text.stamp;
  return stamp;
}

// What of a part is wanted, and how much there is of it.
class Measure : public PartSink {
 public:
  explicit Measure(const std::string& part) : part_(part) {}
  Status Add(bool held_out, std::string_view piece) override {
    if (Wanted(held_out)) bytes_ += piece.size();
    return OkStatus();
  }
  Status End(bool) override { return OkStatus(); }
  bool Wanted(bool held_out) const { return part_ == "all" || (part_ == "validation") == held_out; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::string part_;
  uint64_t bytes_ = 0;
};

// Lines, without line ends, of every n-th block of the text; long ones in chunks.
class Sampler : public PartSink {
 public:
  Sampler(const Measure& measure, uint64_t wanted, std::vector<std::string>* lines)
      : measure_(measure),
        every_((measure.bytes() + wanted - 1) / std::max<uint64_t>(wanted, 1)),
        lines_(lines) {}

  Status Add(bool held_out, std::string_view piece) override {
    if (!measure_.Wanted(held_out)) return OkStatus();
    rest_ += piece;
    Cut(/*last=*/false);
    return OkStatus();
  }
  Status End(bool held_out) override {
    if (measure_.Wanted(held_out)) Cut(/*last=*/true);
    return OkStatus();
  }

 private:
  void Cut(bool last) {
    size_t done = 0;
    while (done < rest_.size()) {
      const std::string_view text = std::string_view(rest_).substr(done);
      const size_t length = NextChunk(text, last, /*whole_lines=*/true);
      if (length == 0) break;
      const bool chosen = every_ <= 1 || at_ / kBlockBytes % every_ == 0;
      if (chosen && text[0] != '\n') lines_->emplace_back(text.substr(0, length));
      at_ += length;
      done += length;
    }
    rest_.erase(0, done);
  }

  const Measure& measure_;
  uint64_t every_, at_ = 0;
  std::string rest_;
  std::vector<std::string>* lines_;
};

Result<std::string> Train(int vocab_size, const std::vector<TrainingText>& texts,
                          Preparation* preparation) {
  double weights = 0;
  for (const TrainingText& text : texts) weights += text.weight;
  std::vector<std::string> lines;
  for (const TrainingText& text : texts) {
    GYRE_ASSIGN_OR_RETURN(TextReader reader,
                          TextReader::Create(&text.text, text.holdout, preparation));
    Measure measure(text.part);
    GYRE_RETURN_IF_ERROR(reader.Read("measuring", &measure));
    const double wanted = static_cast<double>(kTokenizerSampleBytes) * text.weight / weights;
    Sampler sampler(measure, static_cast<uint64_t>(std::max(wanted, 1.0)), &lines);
    GYRE_RETURN_IF_ERROR(reader.Read("sampling", &sampler));
  }
  if (preparation->progress) {
    size_t bytes = 0;
    for (const std::string& line : lines) bytes += line.size();
    preparation->progress("training a tokenizer of " + std::to_string(vocab_size) + " pieces on " +
                          std::to_string(bytes) + " bytes");
  }
  return TrainSentencePiece(lines, vocab_size);
}

Result<std::unique_ptr<Tokenizer>> FindOrTrain(const TokenizerRequest& request,
                                               Preparation* preparation) {
  const fs::path& home = preparation->home;
  GYRE_ASSIGN_OR_RETURN(const std::vector<TrainingText> texts, TextsOf(home, request));
  const fs::path folder = home / "tokenizers";
  Json key = {{"train", "bpe"}, {"vocab_size", request.vocab_size}, {"on", Json::array()}};
  for (const TrainingText& text : texts) {
    key["on"].push_back({text.text.canonical, text.part, text.weight, text.holdout});
  }
  const std::string name = JsonText(key), stamp = StampOf(texts);
  if (const auto known = ReadRequestIndex(folder, name, stamp); known && known->is_string()) {
    const std::string hash = known->get<std::string>();
    auto model = ReadFile(folder / (hash + ".model"), kMaxTokenizerModelBytes);
    if (model.ok() && Sha256Hex(*model) == hash) return OpenSentencePiece(*std::move(model), hash);
  }
  GYRE_ASSIGN_OR_RETURN(std::string model, Train(request.vocab_size, texts, preparation));
  const std::string hash = Sha256Hex(model);
  GYRE_RETURN_IF_ERROR(MakeFolders(folder));
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(folder / (hash + ".model"), model));
  GYRE_RETURN_IF_ERROR(WriteRequestIndex(folder, name, stamp, hash));
  return OpenSentencePiece(std::move(model), hash);
}

// Its content is not read: weights may be in it.
Result<std::string> StampOfLargeFile(const std::string& path) {
  auto files = ListSourceFiles({{path, {}}});
  if (!files.ok()) return files.status().WithContext("the tokenizer");
  return "tokenizer in " + SourceStamp(*files);
}

Result<std::string> ReadModel(const std::string& path) {
  auto model = ReadFile(path, kMaxTokenizerModelBytes);
  if (model.ok() || model.status().code() != StatusCode::kNotFound) return model;
  return NotFound("no such tokenizer: " + path);
}

}  // namespace

Result<std::string> TokenizerStamp(const fs::path& home, const TokenizerRequest& request) {
  switch (request.kind) {
    case TokenizerKind::kModel: {
      if (request.path.ends_with(kGgufEnding)) return StampOfLargeFile(request.path);
      GYRE_ASSIGN_OR_RETURN(const std::string model, ReadModel(request.path));
      return "tokenizer " + Sha256Hex(model);
    }
    case TokenizerKind::kTrained: {
      GYRE_ASSIGN_OR_RETURN(const std::vector<TrainingText> texts, TextsOf(home, request));
      return "tokenizer on " + StampOf(texts);
    }
    case TokenizerKind::kBytes:
    case TokenizerKind::kIds:
      break;
  }
  return std::string();
}

Result<std::unique_ptr<Tokenizer>> PrepareTokenizer(const TokenizerRequest& request,
                                                    Preparation* preparation) {
  switch (request.kind) {
    case TokenizerKind::kModel:
      return preparation->options.open_tokenizer ? preparation->options.open_tokenizer(request.path)
                                                 : OpenTokenizerFile(request.path);
    case TokenizerKind::kTrained:
      return FindOrTrain(request, preparation);
    case TokenizerKind::kIds:
      return MakeIdTokenizer(request.vocab_size, request.document_start);
    case TokenizerKind::kBytes:
      break;
  }
  return MakeByteTokenizer();
}

Result<std::unique_ptr<Tokenizer>> OpenTokenizerFile(const std::string& path) {
  if (path.ends_with(kGgufEnding)) {
    return Unimplemented("the tokenizer in " + path + " cannot be read here");
  }
  GYRE_ASSIGN_OR_RETURN(std::string model, ReadModel(path));
  if (path.ends_with(".json")) return OpenTokenizerJson(std::move(model), path);
  return OpenSentencePiece(std::move(model), path);
}

}  // namespace gyre
