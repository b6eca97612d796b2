#include "trainer/data/tokenizer_request.h"

#include "trainer/data/dataset.h"

namespace gyre {
namespace {

bool Whole(const Json& json, const char* key, int64_t low, int64_t high) {
  return json.contains(key) && json[key].is_number_integer() && json[key] >= low &&
         json[key] <= high;
}

constexpr int64_t kMaxVocabulary = 1 << 24;

}  // namespace

Result<TokenizerRequest> TokenizerRequestFromJson(const Json& json) {
  const Status fault = InvalidArgument(
      "a tokenizer is bytes, a SentencePiece .model, a tokenizer.json, a model's .gguf, {train: "
      "bpe, "
      "vocab_size: n} or {ids: n}, not " +
      json.dump(-1, ' ', false, Json::error_handler_t::replace));
  TokenizerRequest request;
  if (json.is_null() || json == "bytes") return request;
  if (json.is_string()) {
    request.kind = TokenizerKind::kModel;
    request.path = json.get<std::string>();
    if (IsTokenizerFile(request.path)) return request;
    return fault;
  }
  if (!json.is_object()) return fault;
  if (json.contains("ids")) {
    if (!Whole(json, "ids", 1, kMaxVocabulary)) return fault;
    request.kind = TokenizerKind::kIds;
    request.vocab_size = json["ids"].get<int>();
    if (json.contains("document_start")) {
      if (!Whole(json, "document_start", 0, request.vocab_size - 1)) return fault;
      request.document_start = json["document_start"].get<int>();
    }
    return request;
  }
  if (json.value("train", Json()) != "bpe" || !Whole(json, "vocab_size", 1, kMaxVocabulary)) {
    return fault;
  }
  request.kind = TokenizerKind::kTrained;
  request.vocab_size = json["vocab_size"].get<int>();
  request.on = json.value("on", Json());
  if (json.contains("holdout") && json["holdout"].is_number()) {
    request.holdout = json["holdout"].get<double>();
  }
  return request;
}

bool IsTokenizerFile(std::string_view text) {
  return text.ends_with(".model") || text.ends_with(".json") || text.ends_with(kGgufEnding);
}

std::optional<int> VocabularyOf(const TokenizerRequest& tokenizer) {
  if (tokenizer.kind == TokenizerKind::kModel) return std::nullopt;
  const bool added = tokenizer.kind == TokenizerKind::kIds && tokenizer.document_start < 0;
  return tokenizer.vocab_size + (added ? 1 : 0);
}

Json TokenizerWithPaths(const Json& tokenizer,
                        const std::function<std::string(const std::string&)>& change) {
  if (tokenizer.is_string() && tokenizer != "bytes") return change(tokenizer.get<std::string>());
  if (!tokenizer.is_object() || !tokenizer.contains("on") || !tokenizer["on"].is_array()) {
    return tokenizer;
  }
  Json changed = tokenizer;
  for (Json& text : changed["on"]) {
    if (text.is_object() && text.contains("source")) {
      text["source"] = WithPaths(text["source"], change);
    }
  }
  return changed;
}

}  // namespace gyre
