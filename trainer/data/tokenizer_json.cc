#include "trainer/data/tokenizer_json.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "base/hash.h"
#include "trainer/data/byte_level_tokenizer.h"

namespace gyre {
namespace {

// Its objects are sorted: an ordered one would look through 100,000 tokens for each.
using Json = nlohmann::json;

constexpr int64_t kMaxId = 1 << 24;
constexpr char kGpt2Pattern[] =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr char kSentencePieceAdvice[] =
    "; tokenizers of SentencePiece's kind are read from the tokenizer.model beside it";

// GPT-2's way to write bytes as printable characters: by the characters' code points.
const std::unordered_map<uint32_t, char>& BytesOfCharacters() {
  static const auto characters = [] {
    std::unordered_map<uint32_t, char> map;
    uint32_t other = 256;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
      map[itself ? byte : other++] = static_cast<char>(byte);
    }
    return map;
  }();
  return characters;
}

// The bytes that a token of the vocabulary stands for; one that is not written so is itself.
std::string BytesOfToken(const std::string& token) {
  std::string bytes;
  for (size_t at = 0; at < token.size();) {
    const auto first = static_cast<unsigned char>(token[at]);
    const size_t length = first < 0x80 ? 1 : 2;  // all code points are below 0x800
    if (at + length > token.size()) return token;
    const uint32_t code =
        length == 1 ? first
                    : (first & 0x1Fu) << 6 | (static_cast<unsigned char>(token[at + 1]) & 0x3Fu);
    const auto found = BytesOfCharacters().find(code);
    if (first >= 0xE0 || found == BytesOfCharacters().end()) return token;
    bytes += found->second;
    at += length;
  }
  return bytes;
}

std::string TypeOf(const Json& node) {
  return node.is_object() && node.contains("type") && node["type"].is_string()
             ? node["type"].get<std::string>()
             : "";
}

bool Flag(const Json& node, const char* key, bool otherwise) {
  return node.contains(key) && node[key].is_boolean() ? node[key].get<bool>() : otherwise;
}

std::string Escaped(const std::string& text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
    pattern += plain ? std::string(1, c) : std::string("\\") + c;
  }
  return pattern;
}

class Parser {
 public:
  Parser(const Json& json, ByteLevelModel* out) : json_(json), out_(out) {}

  Status Parse() {
    GYRE_RETURN_IF_ERROR(ParseVocabulary());
    GYRE_RETURN_IF_ERROR(ParseMerges());
    GYRE_RETURN_IF_ERROR(ParseNormalizer(At(json_, "normalizer")));
    GYRE_RETURN_IF_ERROR(ParsePreTokenizer(At(json_, "pre_tokenizer"), 0));
    if (!byte_level_) {
      return InvalidArgument(std::string("pre_tokenizer has no ByteLevel") + kSentencePieceAdvice);
    }
    GYRE_RETURN_IF_ERROR(ParseAddedTokens());
    ChooseDocumentStart();
    return OkStatus();
  }

 private:
  static const Json& At(const Json& json, const char* key) {
    static const Json kNull;
    return json.is_object() && json.contains(key) ? json[key] : kNull;
  }

  Status PutToken(int64_t id, std::string bytes) {
    if (id < 0 || id >= kMaxId) return InvalidArgument("a token has the id " + std::to_string(id));
    const auto index = static_cast<size_t>(id);
    if (out_->bytes_of.size() <= index) out_->bytes_of.resize(index + 1);
    out_->bytes_of[index] = std::move(bytes);
    return OkStatus();
  }

  Status ParseVocabulary() {
    const Json& model = At(json_, "model");
    const std::string type = TypeOf(model);
    if (!model.is_object() || (type != "BPE" && !(type.empty() && model.contains("merges")))) {
      return InvalidArgument("model.type is '" + type + "', and only BPE can be read" +
                             kSentencePieceAdvice);
    }
    if (Flag(model, "byte_fallback", false)) {
      return InvalidArgument(std::string("model.byte_fallback is true") + kSentencePieceAdvice);
    }
    for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
      const Json& value = At(model, key);
      if (!value.is_null() && value != "" && value != 0) {
        return InvalidArgument(std::string("model.") + key + " is set, which is not supported");
      }
    }
    out_->whole_pieces = Flag(model, "ignore_merges", false);
    const Json& vocabulary = At(model, "vocab");
    if (!vocabulary.is_object()) return InvalidArgument("model.vocab must be an object");
    for (const auto& [token, id] : vocabulary.items()) {
      if (!id.is_number_integer())
        return InvalidArgument("model.vocab has an id that is no number");
      GYRE_RETURN_IF_ERROR(PutToken(id.get<int64_t>(), BytesOfToken(token)));
      ids_.emplace(token, static_cast<int32_t>(id.get<int64_t>()));
    }
    return OkStatus();
  }

  Status ParseMerges() {
    const Json& merges = At(At(json_, "model"), "merges");
    if (!merges.is_array()) return InvalidArgument("model.merges must be a list");
    for (size_t rank = 0; rank < merges.size(); ++rank) {
      const Json& merge = merges[rank];
      const auto bad = [rank](const std::string& what) {
        return InvalidArgument("model.merges[" + std::to_string(rank) + "] " + what);
      };
      std::string left, right;
      if (merge.is_string()) {
        const auto text = merge.get<std::string>();
        const size_t space = text.find(' ');
        if (space == std::string::npos) return bad("is not two tokens");
        left = text.substr(0, space);
        right = text.substr(space + 1);
      } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
                 merge[1].is_string()) {
        left = merge[0].get<std::string>();
        right = merge[1].get<std::string>();
      } else {
        return bad("is not two tokens");
      }
      std::array<int32_t, 3> ids{};
      for (size_t i = 0; i < 3; ++i) {
        const std::string token = i == 0 ? left : i == 1 ? right : left + right;
        const auto found = ids_.find(token);
        if (found == ids_.end()) return bad("has '" + token + "', which model.vocab has not");
        ids[i] = found->second;
      }
      out_->merges.push_back(ids);
    }
    return OkStatus();
  }

  static Status ParseNormalizer(const Json& node) {
    if (node.is_null() || TypeOf(node) == "NFC") return OkStatus();
    const Json& list = At(node, "normalizers");
    if (TypeOf(node) != "Sequence" || !list.is_array()) {
      return InvalidArgument("normalizer is '" + TypeOf(node) + "', and only NFC is supported" +
                             kSentencePieceAdvice);
    }
    for (const Json& item : list) {
      if (TypeOf(item) != "NFC") {
        return InvalidArgument("normalizer has '" + TypeOf(item) + "', and only NFC is supported" +
                               kSentencePieceAdvice);
      }
    }
    return OkStatus();
  }

  Status ParsePreTokenizer(const Json& node, int depth) {
    const std::string type = TypeOf(node);
    if (type == "Sequence" && depth < 4 && At(node, "pretokenizers").is_array()) {
      for (const Json& item : node["pretokenizers"]) {
        GYRE_RETURN_IF_ERROR(ParsePreTokenizer(item, depth + 1));
      }
      return OkStatus();
    }
    if (type == "ByteLevel") {
      byte_level_ = true;
      if (Flag(node, "add_prefix_space", true)) {
        return InvalidArgument("pre_tokenizer.add_prefix_space is true, which is not supported");
      }
      if (Flag(node, "use_regex", true)) out_->patterns.push_back(kGpt2Pattern);
      return OkStatus();
    }
    if (type == "Digits") {
      out_->patterns.push_back(Flag(node, "individual_digits", false) ? "\\p{N}" : "\\p{N}+");
      return OkStatus();
    }
    if (type == "Split") return ParseSplit(node);
    return InvalidArgument("pre_tokenizer '" + type +
                           "' is not supported; ByteLevel, Digits, Split and Sequence are" +
                           kSentencePieceAdvice);
  }

  Status ParseSplit(const Json& node) {
    const Json &pattern = At(node, "pattern"), &regex = At(pattern, "Regex"),
               &text = At(pattern, "String"), &behavior = At(node, "behavior");
    if (behavior != "Isolated" || Flag(node, "invert", false)) {
      return InvalidArgument("pre_tokenizer Split must have the behavior Isolated and not invert");
    }
    if (regex.is_string()) {
      out_->patterns.push_back(regex.get<std::string>());
    } else if (text.is_string() && !text.get<std::string>().empty()) {
      out_->patterns.push_back(Escaped(text.get<std::string>()));
    } else {
      return InvalidArgument("pre_tokenizer Split has no pattern");
    }
    return OkStatus();
  }

  Status ParseAddedTokens() {
    const Json& tokens = At(json_, "added_tokens");
    if (!tokens.is_null() && !tokens.is_array()) {
      return InvalidArgument("added_tokens must be a list");
    }
    for (const Json& token : tokens) {
      const Json &id = At(token, "id"), &content = At(token, "content");
      if (!id.is_number_integer() || !content.is_string()) {
        return InvalidArgument("added_tokens has one without id or content");
      }
      GYRE_RETURN_IF_ERROR(PutToken(id.get<int64_t>(), content.get<std::string>()));
      added_[content.get<std::string>()] = {static_cast<int32_t>(id.get<int64_t>()),
                                            !Flag(token, "lstrip", false) &&
                                                !Flag(token, "rstrip", false) &&
                                                !Flag(token, "single_word", false)};
    }
    return OkStatus();
  }

  // The token that the post-processor puts in front of a text.
  std::optional<std::string> TokenInFront(const Json& node) const {
    if (TypeOf(node) == "Sequence" && At(node, "processors").is_array()) {
      for (const Json& item : node["processors"]) {
        if (TypeOf(item) == "Sequence") continue;
        if (auto token = TokenInFront(item)) return token;
      }
    }
    const Json& single = At(node, "single");
    if (TypeOf(node) != "TemplateProcessing" || !single.is_array() || single.empty()) return {};
    const Json& id = At(At(single[0], "SpecialToken"), "id");
    return id.is_string() ? std::optional(id.get<std::string>()) : std::nullopt;
  }

  void ChooseDocumentStart() {
    out_->document_start = -1;
    std::vector<std::string> names = {"<|begin_of_text|>", "<|endoftext|>", "<bos>", "<s>"};
    if (auto token = TokenInFront(At(json_, "post_processor"))) names.insert(names.begin(), *token);
    for (const std::string& name : names) {
      const auto found = added_.find(name);
      if (found == added_.end() || out_->document_start >= 0) continue;
      out_->document_start = found->second.first;
    }
    if (out_->document_start < 0) {
      out_->document_start = static_cast<int32_t>(out_->bytes_of.size());
      out_->bytes_of.emplace_back();
    }
    for (const auto& [content, token] : added_) {
      const auto& [id, as_it_stands] = token;
      if (as_it_stands && id != out_->document_start) out_->added.emplace_back(content, id);
    }
  }

  const Json& json_;
  ByteLevelModel* out_;
  bool byte_level_ = false;
  std::unordered_map<std::string, int32_t> ids_;
  std::map<std::string, std::pair<int32_t, bool>> added_;  // id; whether it is recognised in text
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> OpenTokenizerJson(std::string content, const std::string& name) {
  ByteLevelModel model;
  const Json json = Json::parse(content, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument(name + " is not a tokenizer.json");
  if (const Status status = Parser(json, &model).Parse(); !status.ok()) {
    return status.WithContext(name);
  }
  model.identity = std::string(kTokenizerJsonIdentity) + Sha256Hex(content);
  model.content = std::move(content);
  auto made = MakeByteLevelTokenizer(std::move(model));
  if (!made.ok()) return made.status().WithContext(name);
  return made;
}

}  // namespace gyre
