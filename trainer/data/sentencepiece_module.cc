// The module with the library in it (sentencepiece.h says why it is one).

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "base/hash.h"
#include "trainer/data/remembered_chunks.h"
#include "trainer/data/sentencepiece.h"
#include "trainer/data/text_chunks.h"

namespace gyre {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, the library's sign for a space

// Protocol buffers merge a message that comes twice, field by field, the later one winning: this is
// a normalizer_spec without a character map, without a space in front, without spaces removed.
constexpr std::string_view kWithoutNormalization("\x1A\x08\x12\x00\x18\x00\x20\x00\x28\x01", 10);

std::string WithSpaces(std::string_view piece) {
  std::string bytes;
  for (size_t at = 0; at < piece.size();) {
    const bool space = piece.substr(at).starts_with(kSpace);
    bytes += space ? ' ' : piece[at];
    at += space ? kSpace.size() : 1;
  }
  return bytes;
}

// A space after something else: then what a word becomes depends on what follows.
bool SpansWords(std::string_view bytes) {
  const size_t word = bytes.find_first_not_of(' ');
  return word != std::string_view::npos && bytes.find(' ', word) != std::string_view::npos;
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> Open(std::string model, const std::string& name);

  std::string identity() const override { return identity_; }
  int vocab_size() const override { return static_cast<int>(bytes_of_.size()); }
  int32_t document_start() const override { return document_start_; }
  std::string_view BytesOf(int32_t id) const override { return bytes_of_[static_cast<size_t>(id)]; }
  std::string_view model() const override { return model_; }

  size_t Encode(std::string_view text, bool last, std::vector<int32_t>* ids) override {
    size_t done = 0;
    while (done < text.size()) {
      const size_t length = NextChunk(text.substr(done), last, whole_lines_);
      if (length == 0) break;
      remembered_.Append(
          text.substr(done, length), [this](std::string_view chunk) { return Made(chunk); }, ids);
      done += length;
    }
    return done;
  }

 private:
  std::vector<int> Made(std::string_view chunk) {
    std::vector<int> made;
    if (!processor_.Encode(chunk, &made).ok() || !ComesBack(made, chunk)) {
      made.clear();
      for (const char c : chunk) made.push_back(byte_ids_[static_cast<unsigned char>(c)]);
    }
    return made;
  }

  bool ComesBack(const std::vector<int>& ids, std::string_view text) const {
    for (const int id : ids) {
      const std::string& bytes = bytes_of_[static_cast<size_t>(id)];
      if (bytes.empty() || !text.starts_with(bytes)) return false;
      text.remove_prefix(bytes.size());
    }
    return text.empty();
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::string model_, identity_;
  std::vector<std::string> bytes_of_;
  std::array<int32_t, 256> byte_ids_;
  int32_t document_start_ = 0;
  bool whole_lines_ = false;
  RememberedChunks remembered_;
};

Result<std::unique_ptr<Tokenizer>> SentencePieceTokenizer::Open(std::string model,
                                                                const std::string& name) {
  auto made = std::make_unique<SentencePieceTokenizer>();
  const auto loaded =
      made->processor_.LoadFromSerializedProto(model + std::string(kWithoutNormalization));
  if (model.empty() || !loaded.ok() || made->processor_.GetPieceSize() <= 0) {
    return InvalidArgument(name + " is not a SentencePiece model" +
                           (loaded.ok() ? "" : ": " + std::string(loaded.message())));
  }
  const auto& processor = made->processor_;
  auto& bytes_of = made->bytes_of_;
  made->byte_ids_.fill(-1);
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    bytes_of.emplace_back();
    if (processor.IsControl(id) || processor.IsUnknown(id) || processor.IsUnused(id)) continue;
    if (!processor.IsByte(id)) {
      bytes_of.back() = WithSpaces(processor.IdToPiece(id));
      made->whole_lines_ |= SpansWords(bytes_of.back());
      continue;
    }
    const std::string digits = processor.IdToPiece(id).substr(3, 2);  // of "<0x0A>"
    const auto byte = static_cast<unsigned char>(std::strtoul(digits.c_str(), nullptr, 16));
    bytes_of.back() = static_cast<char>(byte);
    made->byte_ids_[byte] = id;
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    if (made->byte_ids_[byte] >= 0) continue;
    made->byte_ids_[byte] = static_cast<int32_t>(bytes_of.size());
    bytes_of.emplace_back(1, static_cast<char>(byte));
  }
  made->document_start_ = processor.bos_id();
  if (made->document_start_ < 0) {
    made->document_start_ = static_cast<int32_t>(bytes_of.size());
    bytes_of.emplace_back();
  }
  made->identity_ = std::string(kSentencePieceIdentity) + Sha256Hex(model);
  made->model_ = std::move(model);
  return std::unique_ptr<Tokenizer>(std::move(made));
}

class Lines : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(const std::vector<std::string>* lines) : lines_(lines) {}
  bool done() const override { return at_ >= lines_->size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return (*lines_)[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>* lines_;
  size_t at_ = 0;
};

// Marks the characters by their code points; false: not valid UTF-8, or with something that the
// library has its own use for.
bool MarkCharacters(std::string_view line, std::vector<bool>* characters) {
  if (line.find('\0') != std::string_view::npos || line.find(kSpace) != std::string_view::npos) {
    return false;
  }
  for (size_t at = 0; at < line.size();) {
    const size_t length = Utf8Character(line.substr(at));
    if (length == 0) return false;
    size_t code =
        static_cast<unsigned char>(line[at]) & (length == 1 ? 0x7F : 0xFF >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
      code = code << 6 | (static_cast<unsigned char>(line[at + i]) & 0x3F);
    }
    (*characters)[code] = true;
    at += length;
  }
  return true;
}

Result<std::string> Train(const std::vector<std::string>& lines, int vocab_size) {
  constexpr size_t kFixedIds = 259;  // unknown, start, end, and the bytes
  std::vector<std::string> good;
  std::vector<bool> marked(0x110000);
  for (const std::string& line : lines) {
    if (!line.empty() && MarkCharacters(line, &marked)) good.push_back(line);
  }
  if (good.empty()) return InvalidArgument("there is no valid UTF-8 text to train a tokenizer on");
  marked['\t'] = false;  // stays a byte piece
  const auto characters = static_cast<size_t>(std::count(marked.begin(), marked.end(), true));
  if (kFixedIds + characters > static_cast<size_t>(vocab_size)) {
    return InvalidArgument("vocab_size " + std::to_string(vocab_size) +
                           " is too small for this text: it has " + std::to_string(characters) +
                           " different characters, and with " + std::to_string(kFixedIds) +
                           " fixed ids takes at least " + std::to_string(kFixedIds + characters));
  }
  Lines iterator(&good);
  std::string model;
  const auto trained =
      sentencepiece::SentencePieceTrainer::Train({{"model_type", "bpe"},
                                                  {"vocab_size", std::to_string(vocab_size)},
                                                  {"byte_fallback", "true"},
                                                  {"character_coverage", "1.0"},
                                                  {"normalization_rule_name", "identity"},
                                                  {"remove_extra_whitespaces", "false"},
                                                  {"add_dummy_prefix", "false"},
                                                  {"allow_whitespace_only_pieces", "true"},
                                                  {"split_digits", "true"},
                                                  {"unk_id", "0"},
                                                  {"bos_id", "1"},
                                                  {"eos_id", "2"},
                                                  {"pad_id", "-1"},
                                                  {"num_threads", "1"},
                                                  {"max_sentence_length", "1000000"},
                                                  {"minloglevel", "2"}},
                                                 &iterator, &model);
  if (trained.ok()) return model;
  return InvalidArgument("no tokenizer of vocab_size " + std::to_string(vocab_size) +
                         " can be trained on this text; a larger text or a smaller vocabulary may "
                         "do (SentencePiece says: " +
                         trained.message() + ")");
}

}  // namespace
}  // namespace gyre

extern "C" const gyre::SentencePieceFunctions* gyre_sentencepiece() {
  static const gyre::SentencePieceFunctions functions = {gyre::SentencePieceTokenizer::Open,
                                                         gyre::Train};
  return &functions;
}
