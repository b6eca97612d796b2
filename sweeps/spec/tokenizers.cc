// data.tokenizer: only its spelling is checked here; a model's file is looked at where the point is
// resolved.

#include <algorithm>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/sources.h"
#include "sweeps/spec/sweep_spec.h"
#include "sweeps/spec/value_reader.h"
#include "trainer/data/dataset.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {
namespace {

constexpr int64_t kSmallestTrained = 260;  // three marks, 256 bytes, and something to learn
constexpr int64_t kLargest = int64_t{1} << 24;

std::optional<int64_t> ReadWhole(const std::string& path, const YamlRef& ref, int64_t low,
                                 int64_t high, Faults* faults) {
  if (ref.node->IsScalar()) {
    const Reading<Number> number = ReadNumber(ref.node->text, "a whole number");
    if (number.value && number.value->whole && *number.value->whole >= low &&
        *number.value->whole <= high) {
      return *number.value->whole;
    }
  }
  faults->Add(ref.place, path + " must be a whole number between " + std::to_string(low) + " and " +
                             std::to_string(high) + ", and is " + DescribeNode(*ref.node));
  return std::nullopt;
}

std::optional<Json> ReadMapping(const std::string& path, const YamlRef& ref, Faults* faults) {
  const auto& entries = ref.node->entries;
  const auto has = [&entries](const char* key) {
    return std::any_of(entries.begin(), entries.end(),
                       [key](const YamlEntry& entry) { return entry.key == key; });
  };
  const bool ids = has("ids");
  const std::vector<std::string> keys = ids ? std::vector<std::string>{"ids", "document_start"}
                                            : std::vector<std::string>{"train", "vocab_size"};
  Json tokenizer = Json::object();
  bool good = true;
  for (const YamlEntry& entry : entries) {
    const std::string inner = path + "." + entry.key;
    if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
      faults->Add(entry.place,
                  path + " has " + keys[0] + " and " + keys[1] + ", and not " + Quoted(entry.key),
                  DidYouMean(entry.key, keys));
      good = false;
    } else if (entry.key == "train") {
      const bool bpe = entry.value.node->IsScalar() && entry.value.node->text == "bpe";
      if (!bpe) {
        faults->Add(entry.value.place,
                    inner + " must be bpe, and is " + DescribeNode(*entry.value.node));
      }
      good &= bpe;
      tokenizer["train"] = "bpe";
    } else {
      const int64_t low = ids ? (entry.key == "ids" ? 1 : 0) : kSmallestTrained;
      const auto number = ReadWhole(inner, entry.value, low, kLargest, faults);
      good &= number.has_value();
      tokenizer[entry.key] = number.value_or(low);
    }
  }
  for (const std::string& key : keys) {
    if (!good || has(key.c_str()) || key == "document_start") continue;
    faults->Add(ref.place, path + " has no " + key, "for example {train: bpe, vocab_size: 4096}");
    good = false;
  }
  if (good && ids && has("document_start") && tokenizer["document_start"] >= tokenizer["ids"]) {
    faults->Add(ref.place, path + ".document_start must be one of the ids, 0 to " +
                               std::to_string(tokenizer["ids"].get<int64_t>() - 1));
    good = false;
  }
  if (!good) return std::nullopt;
  // In one order, so that equal tokenizers are equal text.
  Json ordered = Json::object();
  for (const std::string& key : keys) {
    if (tokenizer.contains(key)) ordered[key] = tokenizer[key];
  }
  return ordered;
}

}  // namespace

std::string ModelPathIn(const std::string& request_key) {
  const auto request = DatasetRequest::FromKey(request_key);
  if (!request.ok()) return "";
  const auto tokenizer = TokenizerRequestFromJson(request->tokenizer);
  return tokenizer.ok() ? tokenizer->path : "";
}

std::optional<Json> ReadTokenizer(const std::string& path, const YamlRef& ref, Faults* faults) {
  if (ref.node->IsMapping()) return ReadMapping(path, ref, faults);
  const bool scalar = ref.node->IsScalar();
  if (scalar && ref.node->text == "bytes") return Json("bytes");
  if (scalar && IsTokenizerFile(ref.node->text)) {
    auto text = ReadText(path, ref, faults);
    if (!text) return std::nullopt;
    return Json(*std::move(text));
  }
  faults->Add(
      ref.place,
      path +
          " must be bytes, a SentencePiece .model, a tokenizer.json, a model's .gguf, {train: "
          "bpe, vocab_size: n} or {ids: n}, and is " +
          DescribeNode(*ref.node),
      scalar ? DidYouMean(ref.node->text, {"bytes"}) : "");
  return std::nullopt;
}

}  // namespace gyre
