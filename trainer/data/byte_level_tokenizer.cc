#include "trainer/data/byte_level_tokenizer.h"

#include <algorithm>
#include <unordered_map>

#include "trainer/data/byte_pairs.h"
#include "trainer/data/pre_tokenizer.h"
#include "trainer/data/remembered_chunks.h"
#include "trainer/data/text_chunks.h"

namespace gyre {
namespace {

// A piece of text is cut here if no pattern ends it before.
constexpr size_t kWindowBytes = 1 << 16;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
// Stands where a byte is no part of a character: no letter, number or space, as U+FFFD is none.
constexpr char kStandIn = '\x1A';
// Mongolian text has it, and it is no space any more since Unicode 6.3, but still one for PCRE2.
constexpr std::string_view kVowelSeparator = "\xE1\xA0\x8E";  // U+180E
constexpr std::string_view kNoSpace = "\xE2\x80\x8B";         // U+200B, as long and of its kind

// The next token that is recognised in a text as it stands.
class AddedTokens {
 public:
  explicit AddedTokens(std::vector<std::pair<std::string, int32_t>> tokens) {
    std::sort(tokens.begin(), tokens.end(),
              [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    for (auto& token : tokens) {
      if (!token.first.empty()) by_byte_[Index(token.first)].push_back(std::move(token));
    }
  }

  struct Found {
    size_t at = 0, length = 0;  // length 0: what follows may make one from there; or none
    int32_t id = 0;
  };
  Found Find(std::string_view text, bool last) const {
    for (size_t at = 0; at < text.size(); ++at) {
      const std::string_view rest = text.substr(at);
      for (const auto& [content, id] : by_byte_[Index(rest)]) {
        if (rest.starts_with(content)) return {at, content.size(), id};
        if (!last && rest.size() < content.size() && content.starts_with(rest)) return {at, 0, 0};
      }
    }
    return {text.size(), 0, 0};
  }

 private:
  static size_t Index(std::string_view text) { return static_cast<unsigned char>(text[0]); }

  std::array<std::vector<std::pair<std::string, int32_t>>, 256> by_byte_;  // the longest first
};

// How many bytes at the end begin a character that is not whole.
size_t UnfinishedBytes(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

class ByteLevelTokenizer : public Tokenizer {
 public:
  ByteLevelTokenizer(ByteLevelModel model, std::unique_ptr<PreTokenizer> pre_tokenizer)
      : model_(std::move(model)),
        pre_tokenizer_(std::move(pre_tokenizer)),
        added_(model_.added),
        pairs_(model_.merges) {
    model_.merges.clear();
    byte_ids_.fill(-1);
    std::vector<bool> is_added(model_.bytes_of.size());
    for (const auto& [content, id] : model_.added) is_added[static_cast<size_t>(id)] = true;
    for (size_t id = 0; id < model_.bytes_of.size(); ++id) {
      const std::string& bytes = model_.bytes_of[id];
      if (bytes.empty() || is_added[id]) continue;
      if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = static_cast<int>(id);
      if (model_.whole_pieces) whole_.try_emplace(bytes, static_cast<int>(id));
    }
  }

  bool HasReplacements() const {
    const auto has = [this](char c) { return byte_ids_[static_cast<unsigned char>(c)] >= 0; };
    return std::all_of(kReplacement.begin(), kReplacement.end(), has);
  }

  std::string identity() const override { return model_.identity; }
  int vocab_size() const override { return static_cast<int>(model_.bytes_of.size()); }
  int32_t document_start() const override { return model_.document_start; }
  std::string_view BytesOf(int32_t id) const override {
    return id == model_.document_start ? std::string_view()
                                       : model_.bytes_of[static_cast<size_t>(id)];
  }
  std::string_view model() const override { return model_.content; }

  size_t Encode(std::string_view text, bool last, std::vector<int32_t>* ids) override {
    size_t done = 0;
    while (done < text.size()) {
      const std::string_view rest = text.substr(done);
      const AddedTokens::Found found = added_.Find(rest, last);
      const bool ends = found.length > 0 || (last && found.at == rest.size());
      const size_t plain = EncodePlain(rest.substr(0, found.at), ends, ids);
      done += plain;
      if (plain < found.at || found.length == 0) break;
      ids->push_back(found.id);
      done += found.length;
    }
    return done;
  }

 private:
  // Text without added tokens. Where a piece ends follows from the kWindowBytes after its
  // beginning.
  size_t EncodePlain(std::string_view text, bool ends, std::vector<int32_t>* ids) {
    size_t done = 0;
    while (done < text.size()) {
      std::string_view window = text.substr(done, kWindowBytes);
      const bool all = window.size() == text.size() - done;
      if (!all || !ends) window.remove_suffix(UnfinishedBytes(window));
      lengths_.clear();
      const std::string_view shown = Shown(window);
      if (pre_tokenizer_->Split(shown, all && ends, &lengths_) == 0) {
        if (all) break;
        pre_tokenizer_->Split(shown, /*last=*/true, &lengths_);
        lengths_.resize(1);
      }
      for (const size_t length : lengths_) {
        remembered_.Append(
            text.substr(done, length), [this](std::string_view piece) { return Made(piece); }, ids);
        done += length;
      }
    }
    return done;
  }

  // The same as long, with stand-ins for what PCRE2 would not take or would take for something
  // else.
  std::string_view Shown(std::string_view text) {
    bool changed = false;
    for (size_t at = 0; at < text.size();) {
      const size_t length = std::max<size_t>(Utf8Character(text.substr(at)), 1);
      const bool no_character = length == 1 && (text[at] & 0x80) != 0;
      if (no_character || text.substr(at, length) == kVowelSeparator) {
        if (!changed) shown_ = text;
        changed = true;
        shown_.replace(at, length, no_character ? std::string_view(&kStandIn, 1) : kNoSpace);
      }
      at += length;
    }
    return changed ? shown_ : text;
  }

  std::vector<int> Made(std::string_view piece) const {
    if (model_.whole_pieces) {
      const auto found = whole_.find(std::string(piece));
      if (found != whole_.end()) return {found->second};
    }
    std::vector<int> symbols;
    const auto id = [this](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
    for (const char c : piece) {
      if (id(c) >= 0) {
        symbols.push_back(id(c));
      } else {
        for (const char replacement : kReplacement) symbols.push_back(id(replacement));
      }
    }
    pairs_.Merge(&symbols);
    return symbols;
  }

  ByteLevelModel model_;
  std::unique_ptr<PreTokenizer> pre_tokenizer_;
  AddedTokens added_;
  BytePairs pairs_;
  std::array<int, 256> byte_ids_;
  std::unordered_map<std::string, int> whole_;
  std::vector<size_t> lengths_;
  std::string shown_;
  RememberedChunks remembered_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> MakeByteLevelTokenizer(ByteLevelModel model) {
  GYRE_ASSIGN_OR_RETURN(auto pre_tokenizer, PreTokenizer::Create(model.patterns));
  auto made = std::make_unique<ByteLevelTokenizer>(std::move(model), std::move(pre_tokenizer));
  if (!made->HasReplacements()) {
    return InvalidArgument("the vocabulary has no tokens for the bytes EF, BF, BD (U+FFFD)");
  }
  return std::unique_ptr<Tokenizer>(std::move(made));
}

}  // namespace gyre
