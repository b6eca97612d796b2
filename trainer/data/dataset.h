#pragma once

// A data set is one prepared text: token ids and where documents begin, tokenized once, named by
// the hash of its content, memory-mapped from GYRE_HOME/datasets/HASH. Corpora and users' files
// become data sets in two parts, "train" and "validation" (the held-out part), each a data set of
// its own.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// What is asked for: a text, which part of it, and how it becomes tokens.
struct DatasetRequest {
  Json source;       // "corpus:austen", a path, a glob, a folder, or a list of them
  std::string part;  // "train" | "validation" (the held-out part) | "all"
  Json tokenizer;    // "bytes"
  double holdout = 0.05;

  /// The canonical text of the request: equal requests, equal keys. Relative paths are as given:
  /// make them absolute first where the key leaves this process.
  std::string Key() const;
  /// The request that a Key() came from. INVALID_ARGUMENT.
  static Result<DatasetRequest> FromKey(const std::string& key);
};

struct DatasetInfo {
  std::string name;  // "austen", "austen/validation", or the path given
  std::string hash;  // SHA-256 of the content: tokens, document starts, tokenizer
  int64_t tokens = 0;
  int64_t documents = 0;
  int64_t bytes = 0;  // of the text
  int vocab_size = 0;
  std::string tokenizer;
  std::string license;
  std::string source;
};
Json ToJson(const DatasetInfo& info);
Result<DatasetInfo> DatasetInfoFromJson(const Json& json);

/// What the validation set of a job that names none is called: the corpus, or the file or folder
/// without its ending; "validation" for lists and globs.
std::string DefaultValidationName(const Json& train);

/// What a job's configuration asks for. A validation source is the whole text that it names, except
/// that "corpus:NAME/validation" is the corpus's held-out part and a source equal to `train` is the
/// held-out part of that; no validation at all is the held-out part of `train` too.
struct JobDatasetRequests {
  DatasetRequest train;
  std::vector<std::pair<std::string, DatasetRequest>> validation;  // by name of the validation set
};
JobDatasetRequests RequestsOf(const DataConfig& data);

/// The data set if it is prepared and its source unchanged since; NOT_FOUND else. Reads no text.
Result<DatasetInfo> FindDataset(const std::filesystem::path& home, const DatasetRequest& request);

/// Finds or makes it. `progress` gets sentences for people ("fetching r-cran-janeaustenr"); may be
/// empty. A request for "train" or "validation" makes both parts at once. `package` is a file to
/// take a corpus from instead of fetching its Debian package; may be empty. NOT_FOUND: no such
/// corpus (lists the known) or file; UNAVAILABLE: a package could not be fetched, or a file changed
/// while it was read; UNIMPLEMENTED: not yet supported.
Result<DatasetInfo> PrepareDataset(const std::filesystem::path& home, const DatasetRequest& request,
                                   const std::function<void(const std::string&)>& progress,
                                   const std::filesystem::path& package = {});

/// What is prepared, sorted by name. Damaged data sets are left out.
Result<std::vector<DatasetInfo>> ListDatasets(const std::filesystem::path& home);

/// An opened data set. Immutable; safe to share between threads.
class Dataset {
 public:
  /// NOT_FOUND: there is none of this hash; DATA_LOSS: its files don't fit together. Reads no
  /// tokens.
  static Result<Dataset> Open(const std::filesystem::path& home, const std::string& hash);
  const DatasetInfo& info() const { return info_; }
  int64_t tokens() const { return info_.tokens; }
  /// Tokens first .. first + ids.size()-1, which must exist. DATA_LOSS: one is outside the
  /// vocabulary.
  Status Read(int64_t first, std::span<int32_t> ids) const;
  /// First token of each document, ascending, first is 0. Every document begins with the
  /// document-start token.
  std::span<const uint64_t> document_starts() const;
  /// Reads everything and holds it against the hash. DATA_LOSS.
  Status Verify() const;

 private:
  DatasetInfo info_;
  MappedFile tokens_file_, documents_file_;
};

}  // namespace gyre
