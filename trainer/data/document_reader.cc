#include "trainer/data/document_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include "trainer/data/byte_stream.h"
#include "trainer/data/json_lines.h"
#include "trainer/data/token_file.h"

namespace gyre {
namespace {

constexpr size_t kPieceBytes = 1 << 18;

// Drops a byte order mark and the carriage returns of CRLF from a text that comes in pieces.
class TextFilter {
 public:
  Result<std::string_view> Clean(std::string_view piece) {
    if (first_) {
      first_ = false;
      if (piece.starts_with("\xFF\xFE") || piece.starts_with("\xFE\xFF") ||
          piece.starts_with(std::string_view("\0\0\xFE\xFF", 4))) {
        return InvalidArgument(
            "this is UTF-16 or UTF-32; convert it first: iconv -f UTF-16 -t UTF-8 OLD > NEW");
      }
      if (piece.starts_with("\xEF\xBB\xBF")) piece.remove_prefix(3);
    }
    if (!held_ && piece.find('\r') == std::string_view::npos) return piece;
    clean_.clear();
    for (const char c : piece) {
      if (held_ && c != '\n') clean_ += '\r';
      held_ = c == '\r';
      if (!held_) clean_ += c;
    }
    return std::string_view(clean_);
  }
  /// What was held back because it might have been half a line end.
  std::string_view Rest() const { return held_ ? "\r" : ""; }

 private:
  bool first_ = true, held_ = false;
  std::string clean_;
};

class Reading {
 public:
  Reading(const SourceFile& file, DocumentSink* sink, const std::function<void(uint64_t)>& on_bytes)
      : file_(file), sink_(sink), on_bytes_(on_bytes) {}

  Status Run() {
    GYRE_ASSIGN_OR_RETURN(stream_, OpenByteStream(file_.path));
    switch (file_.kind) {
      case SourceKind::kText:
        return Text();
      case SourceKind::kJsonLines:
        return Lines();
      case SourceKind::kTokens:
        return ReadTokenFile(stream_.get(), file_.size, file_.ids, file_.document_start, sink_,
                             [this] { Heard(); });
    }
    return OkStatus();
  }

 private:
  void Heard() {
    if (on_bytes_) on_bytes_(stream_->position());
  }

  // The next piece, cleaned; empty at the end of the file (`ended_`), or where nothing is left of
  // it.
  Result<std::string_view> Next() {
    GYRE_ASSIGN_OR_RETURN(const size_t got, stream_->ReadFull(buffer_.data(), buffer_.size()));
    Heard();
    ended_ = got == 0;
    if (ended_) return filter_.Rest();
    return filter_.Clean({buffer_.data(), got});
  }

  Status Text() {
    bool any = false;
    while (!ended_) {
      GYRE_ASSIGN_OR_RETURN(const std::string_view piece, Next());
      if (piece.empty()) continue;
      any = true;
      GYRE_RETURN_IF_ERROR(sink_->Add(piece));
    }
    return any ? sink_->End() : OkStatus();
  }

  Status Lines() {
    std::string line;
    RecordReader records(file_.format);
    while (!ended_) {
      GYRE_ASSIGN_OR_RETURN(std::string_view piece, Next());
      while (!piece.empty()) {
        const size_t end = piece.find('\n');
        line += piece.substr(0, end);
        if (line.size() > kMaxJsonLineBytes) {
          return InvalidArgument(Place() + "the line is longer than " +
                                 std::to_string(kMaxJsonLineBytes >> 20) +
                                 " MiB; cut the document into several");
        }
        if (end == std::string_view::npos) break;
        piece.remove_prefix(end + 1);
        GYRE_RETURN_IF_ERROR(Line(&records, line));
        line.clear();
      }
    }
    return Line(&records, line);
  }

  Status Line(RecordReader* records, std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      ++line_;
      return OkStatus();
    }
    const auto text = records->TextOf(line);
    if (!text.ok()) return Status(text.status().code(), Place() + text.status().message());
    ++line_;
    if (text->empty()) return OkStatus();
    GYRE_RETURN_IF_ERROR(sink_->Add(*text));
    return sink_->End();
  }

  std::string Place() const { return "line " + std::to_string(line_) + ": "; }

  const SourceFile& file_;
  DocumentSink* sink_;
  const std::function<void(uint64_t)>& on_bytes_;
  std::unique_ptr<ByteStream> stream_;
  TextFilter filter_;
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
  bool ended_ = false;
  int64_t line_ = 1;
};

// Knows whether a fault is the sink's: then it has nothing to do with the file.
class WatchedSink : public DocumentSink {
 public:
  explicit WatchedSink(DocumentSink* sink) : sink_(sink) {}
  Status Add(std::string_view piece) override { return Kept(sink_->Add(piece)); }
  Status End() override { return Kept(sink_->End()); }
  const Status& status() const { return status_; }

 private:
  Status Kept(Status status) {
    status_ = status;
    return status;
  }
  DocumentSink* sink_;
  Status status_;
};

}  // namespace

Status ReadDocuments(const SourceFile& file, DocumentSink* sink,
                     const std::function<void(uint64_t)>& on_bytes) {
  WatchedSink watched(sink);
  const Status read = Reading(file, &watched, on_bytes).Run();
  GYRE_RETURN_IF_ERROR(watched.status());
  // A file that changed may also look damaged: then the change is what to say.
  GYRE_RETURN_IF_ERROR(CheckUnchanged(file));
  if (read.ok()) return read;
  const std::string path = file.path.string();
  if (read.message().find(path) != std::string::npos) return read;
  const bool line = read.message().starts_with("line ");
  return Status(read.code(), path + ":" + (line ? read.message().substr(5) : " " + read.message()));
}

}  // namespace gyre
