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
    if (Dataset::Open(home, hash).ok()) return OkStatus();
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

DatasetWriter::DatasetWriter(fs::path home, ScratchFolder scratch, const Tokenizer* tokenizer)
    : home_(std::move(home)),
      scratch_(std::move(scratch)),
      folder_(scratch_.path() / "dataset"),
      tokenizer_(tokenizer) {
  hash_.Update(DatasetHashPrefix(tokenizer->identity(), tokenizer->vocab_size()));
}

DatasetWriter::DatasetWriter(DatasetWriter&& other) noexcept
    : home_(std::move(other.home_)),
      scratch_(std::move(other.scratch_)),
      folder_(std::move(other.folder_)),
      tokenizer_(other.tokenizer_),
      fd_(std::exchange(other.fd_, -1)),
      hash_(other.hash_),
      tokens_(other.tokens_),
      bytes_(other.bytes_),
      document_starts_(std::move(other.document_starts_)),
      ids_(std::move(other.ids_)) {}

DatasetWriter::~DatasetWriter() {
  if (fd_ >= 0) close(fd_);
}

Result<DatasetWriter> DatasetWriter::Create(const fs::path& home, const Tokenizer* tokenizer) {
  GYRE_ASSIGN_OR_RETURN(ScratchFolder scratch, ScratchFolder::Create(home, "dataset"));
  DatasetWriter writer(home, std::move(scratch), tokenizer);
  GYRE_RETURN_IF_ERROR(MakeFolders(writer.folder_));
  const fs::path tokens = writer.folder_ / "tokens.bin";
  writer.fd_ = open(tokens.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (writer.fd_ < 0) return ErrnoStatus(errno, "cannot create " + tokens.string());
  return writer;
}

Status DatasetWriter::Write(const void* data, size_t bytes) {
  hash_.Update(data, bytes);
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd_, from, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "cannot write the data set in " + folder_.string());
    }
    from += written;
    bytes -= static_cast<size_t>(written);
  }
  return OkStatus();
}

Status DatasetWriter::AddDocument(std::string_view text) {
  ids_.clear();
  ids_.push_back(tokenizer_->document_start());
  tokenizer_->Encode(text, &ids_);
  document_starts_.push_back(static_cast<uint64_t>(tokens_));
  tokens_ += static_cast<int64_t>(ids_.size());
  bytes_ += static_cast<int64_t>(text.size());
  if (TokenBytes(tokenizer_->vocab_size()) == 4) {
    return Write(ids_.data(), ids_.size() * sizeof ids_[0]);
  }
  const std::vector<uint16_t> narrow(ids_.begin(), ids_.end());
  return Write(narrow.data(), narrow.size() * sizeof narrow[0]);
}

Result<DatasetInfo> DatasetWriter::Finish(DatasetInfo info) {
  if (fsync(fd_) != 0) return ErrnoStatus(errno, "cannot sync the data set in " + folder_.string());
  close(std::exchange(fd_, -1));
  const std::string_view starts(reinterpret_cast<const char*>(document_starts_.data()),
                                document_starts_.size() * sizeof document_starts_[0]);
  hash_.Update(starts);
  info.tokens = tokens_;
  info.documents = documents();
  info.bytes = bytes_;
  info.vocab_size = tokenizer_->vocab_size();
  info.tokenizer = tokenizer_->identity();
  info.hash = hash_.Finish();
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(folder_ / "documents.bin", starts));
  const std::string meta = ToJson(info).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(folder_ / "meta.json", meta));
  GYRE_RETURN_IF_ERROR(MoveIntoPlace(home_, folder_, info.hash));
  return info;
}

}  // namespace gyre
