#include "trainer/pretrained/tokenizer_of.h"

#include <algorithm>
#include <vector>

#include "base/files.h"
#include "trainer/data/tokenizer_json.h"
#include "trainer/data/tokenizer_store.h"
#include "trainer/pretrained/json_reader.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr char kLlamaThree[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr char kQwen[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// llama.cpp's names of pre-tokenizers, with what they do.
struct PreTokenizerName {
  std::string_view name;
  bool digits_alone;
  const char* pattern;  // null: GPT-2's
  bool whole_pieces;    // ignore_merges
  bool begins;          // the document start is put in front of texts, if nothing else is said
};
constexpr PreTokenizerName kPreTokenizers[] = {
    {"gpt-2", false, nullptr, false, false},       {"phi-2", false, nullptr, false, false},
    {"olmo", false, nullptr, false, false},        {"smollm", true, nullptr, false, false},
    {"starcoder", true, nullptr, false, false},    {"refact", true, nullptr, false, false},
    {"command-r", true, nullptr, false, false},    {"qwen2", false, kQwen, false, false},
    {"llama-bpe", false, kLlamaThree, true, true}, {"llama3", false, kLlamaThree, true, true}};

enum TokenType : int64_t { kControl = 3, kUserDefined = 4 };

Json PreTokenizerJson(const PreTokenizerName& known) {
  Json list = Json::array();
  if (known.digits_alone) list.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (known.pattern != nullptr) {
    list.push_back({{"type", "Split"},
                    {"pattern", {{"Regex", known.pattern}}},
                    {"behavior", "Isolated"},
                    {"invert", false}});
  }
  list.push_back({{"type", "ByteLevel"},
                  {"add_prefix_space", false},
                  {"use_regex", known.pattern == nullptr}});
  return {{"type", "Sequence"}, {"pretokenizers", list}};
}

Result<PreTokenizerName> FindPreTokenizer(const std::string& name) {
  std::string all;
  for (const PreTokenizerName& known : kPreTokenizers) {
    if (known.name == name) return known;
    all += (all.empty() ? "" : ", ") + std::string(known.name);
  }
  return InvalidArgument("tokenizer.ggml.pre is '" + name + "'; known are " + all);
}

// Of a file, or beside it, or in a folder.
Result<std::unique_ptr<Tokenizer>> OpenIn(const fs::path& folder) {
  std::error_code error;
  Status fault = NotFound("there is no tokenizer.model or tokenizer.json in " + folder.string());
  for (const char* name : {"tokenizer.model", "tokenizer.json"}) {
    const fs::path path = folder / name;
    if (!fs::exists(path, error)) continue;
    auto tokenizer = OpenTokenizerFile(path.string());
    if (tokenizer.ok()) return tokenizer;
    if (fault.code() == StatusCode::kNotFound) fault = tokenizer.status();
  }
  return fault;
}

}  // namespace

Result<std::string> TokenizerJsonOf(const GgufFile& file) {
  Status status;
  JsonReader in(file.values(), "", &status);
  std::string kind, pre = "gpt-2";
  in.Required("tokenizer.ggml.model", &kind);
  in.Optional("tokenizer.ggml.pre", &pre);
  GYRE_RETURN_IF_ERROR(status);
  if (kind != "gpt2") {
    return InvalidArgument("tokenizer.ggml.model is '" + kind +
                           "', and only gpt2 (byte-level BPE) can be read; put the model's "
                           "tokenizer.model beside the file");
  }
  GYRE_ASSIGN_OR_RETURN(const PreTokenizerName known, FindPreTokenizer(pre));
  GYRE_ASSIGN_OR_RETURN(const auto tokens, file.Strings("tokenizer.ggml.tokens"));
  GYRE_ASSIGN_OR_RETURN(const auto merges, file.Strings("tokenizer.ggml.merges"));
  GYRE_ASSIGN_OR_RETURN(const auto types, file.WholeNumbers("tokenizer.ggml.token_type"));
  if (types.size() != tokens.size()) {
    return InvalidArgument("tokenizer.ggml.token_type does not have one entry a token");
  }
  // Sorted: an ordered object would look through all tokens for each.
  nlohmann::json vocabulary = nlohmann::json::object();
  Json added = Json::array();
  for (size_t id = 0; id < tokens.size(); ++id) {
    vocabulary[std::string(tokens[id])] = id;
    if (types[id] != kControl && types[id] != kUserDefined) continue;
    added.push_back({{"id", id}, {"content", tokens[id]}, {"special", types[id] == kControl}});
  }
  nlohmann::json json = {{"added_tokens", added},
                         {"pre_tokenizer", PreTokenizerJson(known)},
                         {"model",
                          {{"type", "BPE"},
                           {"ignore_merges", known.whole_pieces},
                           {"vocab", std::move(vocabulary)},
                           {"merges", merges}}}};
  bool begins = known.begins;
  int64_t start = -1;
  in.Optional("tokenizer.ggml.add_bos_token", &begins);
  in.Optional("tokenizer.ggml.bos_token_id", &start);
  GYRE_RETURN_IF_ERROR(status);
  if (begins && start >= 0 && start < static_cast<int64_t>(tokens.size())) {
    const Json token = {{"SpecialToken", {{"id", tokens[static_cast<size_t>(start)]}}}};
    json["post_processor"] = {{"type", "TemplateProcessing"}, {"single", Json::array({token})}};
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::unique_ptr<Tokenizer>> TokenizerOf(const fs::path& model) {
  std::error_code error;
  if (!fs::is_regular_file(model, error)) return OpenIn(model);
  const fs::path folder = model.parent_path().empty() ? "." : model.parent_path();
  if (!GgufFile::Is(model)) return OpenIn(folder);
  GYRE_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::Open(model));
  auto json = TokenizerJsonOf(file);
  if (json.ok()) return OpenTokenizerJson(*std::move(json), model.string());
  auto beside = OpenIn(folder);
  return beside.ok() ? std::move(beside) : json.status().WithContext(model.string());
}

Result<std::unique_ptr<Tokenizer>> OpenNamedTokenizer(const std::string& path) {
  if (!path.ends_with(kGgufEnding)) return OpenTokenizerFile(path);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return NotFound("no such tokenizer: " + path);
  return TokenizerOf(path);
}

Result<int> NamedVocabulary(const std::string& path) {
  GYRE_ASSIGN_OR_RETURN(const auto tokenizer, OpenNamedTokenizer(path));
  return tokenizer->vocab_size();
}

}  // namespace gyre
