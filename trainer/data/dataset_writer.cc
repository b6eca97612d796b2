#include "trainer/data/dataset_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferBytes = 1 << 18;

// The data set is in place: ours, or the same one that somebody else made meanwhile. A damaged one
// is replaced.
Status MoveIntoPlace(const fs::path& home, const fs::path& made, const std::string& hash) {
  const fs::path place = home / "datasets" / hash;
  GYRE_RETURN_IF_ERROR(MakeFolders(place.parent_path()));
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (rename(made.c_str(), place.c_str()) == 0) return SyncPath(place.parent_path());
    if (errno != ENOTEMPTY && errno != EEXIST) {
      return ErrnoStatus(errno, "cannot rename to " + place.string());
    }
    const auto there = Dataset::Open(home, hash);
    if (there.ok() && there->OpenTokenizer().ok()) return OkStatus();
    std::error_code ignored;
    const fs::path damaged = made.parent_path() / "damaged";  // goes with the scratch folder
    fs::remove_all(damaged, ignored);
    fs::rename(place, damaged, ignored);
  }
  return Unavailable("cannot put the data set in " + place.string() +
                     ": others keep writing it; try again");
}

}  // namespace

std::string DatasetHashPrefix(std::string_view tokenizer, int vocab_size) {
  return "gyre dataset 1\n" + std::string(tokenizer) + "\n" + std::to_string(vocab_size) + "\n";
}

DatasetWriter::Output::Output(Output&& other) noexcept { *this = std::move(other); }

DatasetWriter::Output& DatasetWriter::Output::operator=(Output&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(buffer_, other.buffer_);
  return *this;
}

DatasetWriter::Output::~Output() {
  if (fd_ >= 0) close(fd_);
}

Status DatasetWriter::Output::Open(const fs::path& path) {
  path_ = path;
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  return fd_ < 0 ? ErrnoStatus(errno, "cannot create " + path.string()) : OkStatus();
}

Status DatasetWriter::Output::Write(std::string_view bytes) {
  buffer_ += bytes;
  return buffer_.size() < kBufferBytes ? OkStatus() : Flush();
}

Status DatasetWriter::Output::Flush() {
  std::string_view left = buffer_;
  while (!left.empty()) {
    const ssize_t written = write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "cannot write the data set in " + path_.string());
    left.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
  return OkStatus();
}

Status DatasetWriter::Output::Finish() {
  GYRE_RETURN_IF_ERROR(Flush());
  if (fsync(fd_) != 0) return ErrnoStatus(errno, "cannot sync the data set in " + path_.string());
  close(std::exchange(fd_, -1));
  return OkStatus();
}

DatasetWriter::DatasetWriter(fs::path home, ScratchFolder scratch, Tokenizer* tokenizer)
    : home_(std::move(home)),
      scratch_(std::move(scratch)),
      folder_(scratch_.path() / "dataset"),
      tokenizer_(tokenizer) {
  hash_.Update(DatasetHashPrefix(tokenizer->identity(), tokenizer->vocab_size()));
}

Result<DatasetWriter> DatasetWriter::Create(const fs::path& home, Tokenizer* tokenizer) {
  GYRE_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::Create(home, "dataset"));
  DatasetWriter writer(home, std::move(scratch), tokenizer);
  GYRE_RETURN_IF_ERROR(MakeFolders(writer.folder_));
  GYRE_RETURN_IF_ERROR(writer.tokens_file_.Open(writer.folder_ / "tokens.bin"));
  GYRE_RETURN_IF_ERROR(writer.documents_file_.Open(writer.folder_ / "documents.bin"));
  return writer;
}

Status DatasetWriter::WriteIds() {
  tokens_ += static_cast<int64_t>(ids_.size());
  const auto write = [this](const auto& ids) {
    const std::string_view bytes(reinterpret_cast<const char*>(ids.data()),
                                 ids.size() * sizeof ids[0]);
    hash_.Update(bytes);
    return tokens_file_.Write(bytes);
  };
  const Status written = TokenBytes(tokenizer_->vocab_size()) == 4
                             ? write(ids_)
                             : write(std::vector<uint16_t>(ids_.begin(), ids_.end()));
  ids_.clear();
  return written;
}

Status DatasetWriter::Add(std::string_view piece) {
  if (!std::exchange(in_document_, true)) {
    const auto start = static_cast<uint64_t>(tokens_);
    GYRE_RETURN_IF_ERROR(
        documents_file_.Write({reinterpret_cast<const char*>(&start), sizeof start}));
    ++documents_;
    ids_.push_back(tokenizer_->document_start());
  }
  if (tokenizer_->has_bytes()) bytes_ += static_cast<int64_t>(piece.size());
  if (!rest_.empty()) {
    rest_ += piece;
    piece = rest_;
  }
  std::string rest(piece.substr(tokenizer_->Encode(piece, /*last=*/false, &ids_)));
  rest_ = std::move(rest);
  return WriteIds();
}

Status DatasetWriter::EndDocument() {
  if (!in_document_) GYRE_RETURN_IF_ERROR(Add({}));
  tokenizer_->Encode(rest_, /*last=*/true, &ids_);
  rest_.clear();
  in_document_ = false;
  return WriteIds();
}

Status DatasetWriter::AddDocument(std::string_view text) {
  GYRE_RETURN_IF_ERROR(Add(text));
  return EndDocument();
}

Result<DatasetInfo> DatasetWriter::Finish(DatasetInfo info) {
  GYRE_RETURN_IF_ERROR(tokens_file_.Finish());
  GYRE_RETURN_IF_ERROR(documents_file_.Finish());
  GYRE_ASSIGN_OR_RETURN(const MappedFile starts, MappedFile::Open(folder_ / "documents.bin"));
  hash_.Update(starts.bytes());
  info.tokens = tokens_;
  info.documents = documents_;
  info.bytes = bytes_;
  info.vocab_size = tokenizer_->vocab_size();
  info.tokenizer = tokenizer_->identity();
  info.hash = hash_.Finish();
  if (!tokenizer_->model().empty()) {
    GYRE_RETURN_IF_ERROR(WriteFileAtomically(folder_ / "tokenizer.model", tokenizer_->model()));
  }
  const std::string meta = ToJson(info).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(folder_ / "meta.json", meta));
  GYRE_RETURN_IF_ERROR(MoveIntoPlace(home_, folder_, info.hash));
  return info;
}

}  // namespace gyre
