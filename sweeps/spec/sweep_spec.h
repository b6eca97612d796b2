#pragma once

// YAML -> SweepSpec -> Jobs. Pure: no clock, no I/O; the text, the folder that its paths are
// relative to and the hashes of prepared data come in as arguments. One parser serves the command
// line and the coordinator.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/position/rotation.h"

namespace gyre {

struct Diagnostic {
  std::string file;
  int line = 0, column = 0;  // from 1; 0 = the file as a whole
  int length = 1;            // characters the caret line underlines
  std::string message;       // "unknown key 'num_layers' in base.model"
  std::string help;          // "did you mean 'num_hidden_layers'?", or empty
  std::string source_line;   // of a very long line a part, from the character `source_offset` on
  int source_offset = 0;
};
/// "file:line:col: error: message", the line, a caret, and "help: ..." where there is some.
std::string FormatDiagnostic(const Diagnostic& diagnostic);

/// One configuration without its seed.
struct Variant {
  std::string name;  // "RoPE lr=0.001"
  JobConfig config;
  std::vector<LayerPosition> positions;  // one a layer
  /// The same after each of config.position.switches.
  std::vector<std::vector<LayerPosition>> switched;
  // Hashes of the data sets it trains on and is evaluated on (by name of the set), from
  // SpecOptions::dataset_hashes; empty where one is not prepared.
  std::string train_dataset;  // of several texts: their list (config/job_config.h, TextOf)
  std::map<std::string, std::string> validation_datasets;
  /// The object behind config.train.init_from, from SpecOptions::initial_weights; empty where there
  /// is none, or it is not known.
  std::string initial_weights;
};

/// One variant with one seed.
struct Job {
  int variant = 0;  // index into SweepSpec::variants
  uint64_t seed = 0;
  std::string key;             // identity; empty while a data set it needs is not prepared
  std::optional<int> twin_of;  // an earlier job of this sweep that is the same piece of work
};

struct Resources {
  int gpus = 0;
  int cpus = 1;
  int64_t memory_bytes = 0;  // 0 = not stated
  // What the memory is for, in words, where it was estimated: of the job that needs most.
  std::string memory_parts;
};

/// When a job has no hope and ends before its budget (coordinator/stop_early.h).
struct StopEarlyRule {
  std::string rule = "asha";  // asha | median
  std::string metric;
  int64_t grace = 0;  // tokens
  int reduction = 3;
};

struct SweepSpec {
  std::string name, description, question;
  std::string baseline;        // as written; empty = none
  std::vector<int> baselines;  // per variant: index of the variant it is compared with, -1 = none
                               // (itself a baseline)
  std::vector<Variant> variants;
  std::vector<uint64_t> seeds;
  std::vector<Job> jobs;  // seed by seed, so that whole comparisons appear early
  int priority = 0;
  Resources resources;
  int retry_attempts = 3;
  int64_t retry_backoff_ms = 10000;
  int64_t timeout_ms = 0;  // 0 = none
  std::optional<StopEarlyRule> stop_early;
  std::vector<std::string> notes;
};

/// The hash of the data set for a request (trainer/data/dataset.h, DatasetRequest::Key()), if
/// prepared.
using DatasetHashes = std::function<std::optional<std::string>(const std::string& request_key)>;

/// The vocabulary of the SentencePiece model in a file, or why it is not known.
using ModelVocabulary = std::function<Result<int>(const std::string& absolute_path)>;

/// What stands behind a train.init_from: the object's hash (empty while a folder has not been made
/// into one) and the model that the weights are of.
struct InitialWeights {
  std::string hash;
  ModelConfig model;
  PositionConfig position;
};
/// By the absolute path of a folder, or "checkpoint:..."; nothing where the caller cannot know. An
/// error (no such folder, no such job, no checkpoint yet) is a fault of the file.
using InitialWeightsOf = std::function<Result<std::optional<InitialWeights>>(const std::string&)>;

/// A larger text is refused without a look at it.
inline constexpr size_t kMaxSweepFileBytes = size_t{8} << 20;

struct SpecOptions {
  std::string file = "sweep.yaml";  // for messages
  std::string folder = ".";         // absolute; what relative paths in the text are relative to
  int64_t max_jobs = 100000;
  std::vector<std::string> corpora =
      {};  // names of users' own corpora ("corpus:NAME"), beside the built-in ones
  DatasetHashes dataset_hashes;           // may be empty: then no keys
  ModelVocabulary model_vocabulary = {};  // may be empty: then a tokenizer's file is a fault
  InitialWeightsOf initial_weights = {};  // may be empty: nothing is known
  /// The text behind an absolute path, for `extends`; may be empty: then that is a fault.
  std::function<Result<std::string>(const std::string&)> read_file = {};
};

/// The path of the SentencePiece model that a DatasetRequest::Key() asks for; empty if it asks for
/// none: from the keys of prepared data a server learns how large a model's vocabulary is.
std::string ModelPathIn(const std::string& request_key);

/// Names of the corpora that a DatasetRequest::Key() asks for: from the keys of prepared data a
/// server learns which of a user's own corpora there are.
std::vector<std::string> CorporaIn(const std::string& request_key);

struct ParsedSweeps {
  std::vector<SweepSpec> sweeps;                // empty if there are diagnostics
  std::vector<Diagnostic> diagnostics;          // every fault of the file, in order of place
  std::map<std::string, std::string> extended;  // texts of the files it extends, by absolute path
};

/// Never fails, hangs or throws, whatever the text.
ParsedSweeps ParseSweeps(const std::string& yaml, const SpecOptions& options);

/// What the job's points depend on, hashed (sweep-language: Identity). `train_hash` and the
/// validation hashes stand for the data.
std::string JobKey(const Variant& variant, uint64_t seed, const std::string& train_hash,
                   const std::map<std::string, std::string>& validation_hashes);

}  // namespace gyre
