#pragma once

// Makes a data set: documents in, a folder GYRE_HOME/datasets/HASH out.
//
//   tokens.bin     the ids, u16 (vocabulary up to 65,536) or u32, little-endian; each document
//   begins with the
//                  tokenizer's document start
//   documents.bin  u64 little-endian: where each document begins
//   meta.json      DatasetInfo
//
// HASH is the SHA-256 of the tokenizer, the tokens and the document starts. The folder is written
// under GYRE_HOME/tmp and renamed when it is whole and on disk; of two processes that make the same
// data set at once the second finds the first one's, and both end well. Documents stream through:
// memory holds one at a time.

#include <filesystem>
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
  static Result<DatasetWriter> Create(const std::filesystem::path& home,
                                      const Tokenizer* tokenizer);
  DatasetWriter(DatasetWriter&&) noexcept;
  DatasetWriter& operator=(DatasetWriter&&) = delete;
  /// Removes what was not finished.
  ~DatasetWriter();

  /// RESOURCE_EXHAUSTED: the disk is full.
  Status AddDocument(std::string_view text);
  int64_t documents() const { return static_cast<int64_t>(document_starts_.size()); }

  /// `described` gives name, license and source; the rest is filled in. Call once, after the last
  /// document.
  Result<DatasetInfo> Finish(DatasetInfo described);

 private:
  DatasetWriter(std::filesystem::path home, ScratchFolder scratch, const Tokenizer* tokenizer);
  Status Write(const void* data, size_t bytes);

  std::filesystem::path home_;
  ScratchFolder scratch_;
  std::filesystem::path folder_;  // in scratch_; becomes the data set
  const Tokenizer* tokenizer_;
  int fd_ = -1;  // tokens.bin
  Sha256 hash_;
  int64_t tokens_ = 0, bytes_ = 0;
  std::vector<uint64_t> document_starts_;
  std::vector<int32_t> ids_;
};

/// Bytes of one token in tokens.bin.
inline size_t TokenBytes(int vocab_size) { return vocab_size <= 65536 ? 2 : 4; }

/// What the hash of a data set begins with.
std::string DatasetHashPrefix(std::string_view tokenizer, int vocab_size);

}  // namespace gyre
