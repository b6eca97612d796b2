#include "trainer/data/text_reader.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "trainer/data/document_reader.h"
#include "trainer/data/holdout.h"

namespace gyre {
namespace {

// Hears every document of the files once, to know which are held out.
class Surveyor : public PartSink {
 public:
  Status Add(bool, std::string_view piece) override {
    hash_.Update(piece);
    bytes_ += piece.size();
    return OkStatus();
  }
  Status End(bool) override {
    hashes_.push_back(HashPrefix(std::exchange(hash_, {}).Finish()));
    return OkStatus();
  }
  const std::vector<uint64_t>& hashes() const { return hashes_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Sha256 hash_;
  uint64_t bytes_ = 0;
  std::vector<uint64_t> hashes_;
};

class TailFinder : public PartSink {
 public:
  explicit TailFinder(uint64_t size) : tail_(size) {}
  Status Add(bool, std::string_view piece) override {
    tail_.Add(piece);
    return OkStatus();
  }
  Status End(bool) override { return OkStatus(); }
  uint64_t cut() const { return tail_.cut(); }

 private:
  HeldOutTail tail_;
};

// From the documents of files to those of the parts.
class Splitter : public DocumentSink {
 public:
  Splitter(const std::vector<bool>& held_out, bool has_tail, uint64_t tail, PartSink* sink)
      : held_out_(held_out), has_tail_(has_tail), tail_(tail), sink_(sink) {}

  Status Add(std::string_view piece) override {
    if (!has_tail_) return sink_->Add(HeldOutNow(), piece);
    const uint64_t before = std::exchange(at_, at_ + piece.size());
    const size_t train = before >= tail_ ? 0 : std::min<uint64_t>(piece.size(), tail_ - before);
    if (train > 0) GYRE_RETURN_IF_ERROR(sink_->Add(false, piece.substr(0, train)));
    if (at_ >= tail_ && before < tail_) GYRE_RETURN_IF_ERROR(sink_->End(false));
    if (train == piece.size()) return OkStatus();
    return sink_->Add(true, piece.substr(train));
  }

  Status End() override {
    ++documents_;
    if (!has_tail_) {
      const bool held_out = !held_out_.empty() && held_out_[documents_ - 1];
      return sink_->End(held_out);
    }
    return at_ > tail_ ? sink_->End(true) : OkStatus();
  }
  size_t documents() const { return documents_; }

 private:
  bool HeldOutNow() const { return documents_ < held_out_.size() && held_out_[documents_]; }

  const std::vector<bool>& held_out_;
  bool has_tail_;
  uint64_t tail_, at_ = 0;
  PartSink* sink_;
  size_t documents_ = 0;
};

Status AddCorpus(const std::vector<std::string>& documents, bool held_out, PartSink* sink) {
  for (const std::string& document : documents) {
    if (document.empty()) continue;
    GYRE_RETURN_IF_ERROR(sink->Add(held_out, document));
    GYRE_RETURN_IF_ERROR(sink->End(held_out));
  }
  return OkStatus();
}

}  // namespace

Result<TextReader> TextReader::Create(const RequestedText* text, double holdout,
                                      Preparation* preparation) {
  TextReader reader(text, preparation);
  const auto& [home, progress, options, corpora] = *preparation;
  for (const BuiltInCorpus* corpus : text->corpora) {
    if (corpora.contains(corpus->name)) continue;
    GYRE_ASSIGN_OR_RETURN(CorpusText read,
                          ReadBuiltInCorpus(*corpus, home, options.package, progress));
    preparation->corpora.emplace(corpus->name, std::move(read));
  }
  if (progress && !text->files.empty()) {
    progress("reading " + (text->files.size() == 1
                               ? text->files[0].path.string()
                               : std::to_string(text->files.size()) + " files"));
  }
  if (holdout > 0 && !text->files.empty()) GYRE_RETURN_IF_ERROR(reader.Survey(holdout));
  return reader;
}

Status TextReader::Survey(double holdout) {
  Surveyor surveyor;
  GYRE_RETURN_IF_ERROR(ReadFiles("reading", &surveyor));
  held_out_ = HeldOut(surveyor.hashes(), holdout);
  if (held_out_.size() > 1) return OkStatus();
  // Ids are 32 bits each and have no lines.
  if (text_->files[0].kind == SourceKind::kTokens) {
    const uint64_t ids = surveyor.bytes() / 4;
    tail_ = (ids - ids / 10) * 4;
  } else {
    TailFinder finder(surveyor.bytes());
    GYRE_RETURN_IF_ERROR(ReadFiles("reading", &finder));
    tail_ = finder.cut();
  }
  held_out_.clear();
  has_tail_ = true;
  return OkStatus();
}

Status TextReader::Read(const std::string& what, PartSink* sink) {
  for (const BuiltInCorpus* own : text_->corpora) {
    const CorpusText& corpus = preparation_->corpora.at(own->name);
    GYRE_RETURN_IF_ERROR(AddCorpus(corpus.train, false, sink));
    GYRE_RETURN_IF_ERROR(AddCorpus(corpus.validation, true, sink));
  }
  for (const TaskText& task : text_->tasks) {
    GYRE_RETURN_IF_ERROR(WriteTaskText(task, text_->tokenizer,
                                       [sink](bool held_out, std::string_view text) -> Status {
                                         GYRE_RETURN_IF_ERROR(sink->Add(held_out, text));
                                         return sink->End(held_out);
                                       }));
  }
  return text_->files.empty() ? OkStatus() : ReadFiles(what, sink);
}

Status TextReader::ReadFiles(const std::string& what, PartSink* sink) {
  ByteProgress bytes{what, 0, 0};
  for (const SourceFile& file : text_->files) bytes.total += file.size;
  Splitter splitter(held_out_, has_tail_, tail_, sink);
  size_t empty = 0;
  const SourceFile* first_empty = nullptr;
  for (const SourceFile& file : text_->files) {
    const uint64_t before = bytes.done;
    const size_t documents = splitter.documents();
    GYRE_RETURN_IF_ERROR(ReadDocuments(file, &splitter, [&](uint64_t position) {
      bytes.done = before + position;
      if (preparation_->options.on_bytes) preparation_->options.on_bytes(bytes);
    }));
    bytes.done = before + file.size;
    if (splitter.documents() > documents) continue;
    if (file.named) {
      return InvalidArgument(file.path.string() + " is empty; there is nothing to train on");
    }
    if (empty++ == 0) first_empty = &file;
  }
  if (splitter.documents() == 0) {
    return InvalidArgument("all " + std::to_string(text_->files.size()) +
                           " files are empty, the first is " + text_->files[0].path.string());
  }
  if (empty > 0 && preparation_->progress && !std::exchange(said_empty_, true)) {
    preparation_->progress(std::to_string(empty) + " empty files left out, the first is " +
                           first_empty->path.string());
  }
  return OkStatus();
}

}  // namespace gyre
