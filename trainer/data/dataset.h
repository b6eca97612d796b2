#pragma once

// A data set is one prepared text: token ids and where documents begin, tokenized once, named by
// the hash of its content, memory-mapped from GYRE_HOME/datasets/HASH. Corpora and users' files
// become data sets in two parts, "train" and "validation" (the held-out part), each a data set of
// its own.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/data/tokenizer.h"

namespace gyre {

/// What is asked for: a text, which part of it, and how it becomes tokens.
struct DatasetRequest {
  Json source;  // "corpus:austen", a path, a glob, a folder, {"path", "field" or "template"}, or
                // a list of them
  std::string part;  // "train" | "validation" (the held-out part) | "all"
  Json tokenizer;    // tokenizer_request.h
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
  int64_t bytes = 0;  // of the text; 0 where it came as ids
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

/// data.train as a list of texts with weights; a text without weights is a list of one.
struct WeightedSource {
  Json source;
  double weight = 1;
};
std::vector<WeightedSource> TrainSourcesOf(const Json& train);

/// The source with `change` made to each path in it; corpora stay.
Json WithPaths(const Json& source, const std::function<std::string(const std::string&)>& change);

/// What a job's configuration asks for. A validation source is the whole text that it names, except
/// that "corpus:NAME/validation" is the corpus's held-out part and a source equal to one of `train`
/// is the held-out part of that; no validation at all is the held-out part of each text of `train`.
/// All have the job's tokenizer: one that is trained is trained on the job's training text.
struct WeightedRequest {
  DatasetRequest request;
  double weight = 1;  // as a share: they add up to 1
};
struct JobDatasetRequests {
  std::vector<WeightedRequest> train;
  std::vector<std::pair<std::string, DatasetRequest>> validation;  // by name of the validation set
};
JobDatasetRequests RequestsOf(const DataConfig& data);

/// The data set if it is prepared and its source unchanged since; NOT_FOUND else. Reads no text.
Result<DatasetInfo> FindDataset(const std::filesystem::path& home, const DatasetRequest& request);

/// Sentences for people.
using ProgressFn = std::function<void(const std::string&)>;

/// How far a reading of the text is.
struct ByteProgress {
  std::string what;              // "tokenizing"
  uint64_t done = 0, total = 0;  // bytes of the files
};

struct PrepareOptions {
  std::filesystem::path package = {};  // take a corpus from this file, not from its Debian package
  std::function<void(const ByteProgress&)> on_bytes = {};  // often; may be empty
  /// Opens the file that a request names as its tokenizer. Empty: OpenTokenizerFile(), which does
  /// not look into a model's own file.
  std::function<Result<std::unique_ptr<Tokenizer>>(const std::string& path)> open_tokenizer = {};
};

/// Finds or makes it. `progress` ("fetching r-cran-janeaustenr") may be empty. A request for
/// "train" or "validation" makes both parts at once. The text streams through: memory holds 8 bytes
/// a document beside what the tokenizer needs. NOT_FOUND: no such corpus (lists the known) or file;
/// UNAVAILABLE: a package could not be fetched, or a file changed while it was read; DATA_LOSS: a
/// compressed file is damaged or cut off; RESOURCE_EXHAUSTED: the disk is full; UNIMPLEMENTED: this
/// build cannot do it.
Result<DatasetInfo> PrepareDataset(const std::filesystem::path& home, const DatasetRequest& request,
                                   const ProgressFn& progress, const PrepareOptions& options = {});

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
  /// Reads everything and holds it against the hash. DATA_LOSS. CANCELLED: `stop`.
  Status Verify(std::stop_token stop = {}) const;
  /// The tokenizer that it was made with, from tokenizer.model in its folder where it needs one.
  Result<std::unique_ptr<Tokenizer>> OpenTokenizer() const;

 private:
  std::filesystem::path folder_;
  DatasetInfo info_;
  MappedFile tokens_file_, documents_file_;
};

}  // namespace gyre
