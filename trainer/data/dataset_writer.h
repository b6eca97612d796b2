#pragma once

// Makes a data set: documents in, a folder GYRE_HOME/datasets/HASH out.
//
//   tokens.bin       the ids, u16 (vocabulary up to 65,536) or u32, little-endian; each document
//                    begins with the tokenizer's document start
//   documents.bin    u64 little-endian: where each document begins
//   tokenizer.model  where the tokenizer is a SentencePiece model: that model
//   meta.json        DatasetInfo
//
// HASH is the SHA-256 of the tokenizer (by content), the tokens and the document starts. The folder
// is written under GYRE_HOME/tmp and renamed when it is whole and on disk; of two processes that
// make the same data set at once the second finds the first one's, and both end well. Documents
// stream through: memory holds a buffer, whatever their length and number.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/scratch_folder.h"
#include "base/status.h"
#include "trainer/data/dataset.h"
#include "trainer/data/tokenizer.h"

namespace gyre {

class DatasetWriter {
 public:
  /// `tokenizer` outlives the writer.
  static Result<DatasetWriter> Create(const std::filesystem::path& home, Tokenizer* tokenizer);

  /// More of the document, wherever it is cut. RESOURCE_EXHAUSTED: the disk is full.
  Status Add(std::string_view piece);
  Status EndDocument();
  /// A document as a whole.
  Status AddDocument(std::string_view text);
  int64_t documents() const { return documents_; }

  /// `described` gives name, license and source; the rest is filled in. Call once, after the last
  /// document.
  Result<DatasetInfo> Finish(DatasetInfo described);

 private:
  // A file that is written from beginning to end.
  class Output {
   public:
    Output() = default;
    Output(Output&& other) noexcept;
    Output& operator=(Output&& other) noexcept;
    ~Output();
    Status Open(const std::filesystem::path& path);
    Status Write(std::string_view bytes);
    /// Everything is on disk, and the file closed.
    Status Finish();

   private:
    Status Flush();
    std::filesystem::path path_;
    int fd_ = -1;
    std::string buffer_;
  };

  DatasetWriter(std::filesystem::path home, ScratchFolder scratch, Tokenizer* tokenizer);
  Status WriteIds();

  std::filesystem::path home_;
  ScratchFolder scratch_;
  std::filesystem::path folder_;  // in scratch_; becomes the data set
  Tokenizer* tokenizer_;
  Output tokens_file_, documents_file_;
  Sha256 hash_;
  int64_t tokens_ = 0, documents_ = 0, bytes_ = 0;
  bool in_document_ = false;
  std::string rest_;  // of the document: what the tokenizer could not yet decide
  std::vector<int32_t> ids_;
};

/// Bytes of one token in tokens.bin.
inline size_t TokenBytes(int vocab_size) { return vocab_size <= 65536 ? 2 : 4; }

/// What the hash of a data set begins with.
std::string DatasetHashPrefix(std::string_view tokenizer, int vocab_size);

}  // namespace gyre
