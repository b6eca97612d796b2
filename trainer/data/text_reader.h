#pragma once

// Reads a requested text from beginning to end, as often as it takes, and tells the documents that
// are held out from the others. Corpora of our own are fetched once and kept in memory; files
// stream through, each time from the disk.

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/dataset.h"
#include "trainer/data/requested_text.h"

namespace gyre {

/// What the readers of one preparation share.
struct Preparation {
  const std::filesystem::path& home;
  const ProgressFn& progress;
  const PrepareOptions& options;
  std::map<std::string, CorpusText> corpora = {};  // our own, by name: fetched once
};

class PartSink {
 public:
  virtual ~PartSink() = default;
  virtual Status Add(bool held_out, std::string_view piece) = 0;
  virtual Status End(bool held_out) = 0;
};

class TextReader {
 public:
  /// Fetches what is to be fetched. With 0 < holdout < 1 files are read once, for which documents
  /// are held out depends on all of them; with 0 nothing of them is. `text` and `preparation`
  /// outlive the reader.
  static Result<TextReader> Create(const RequestedText* text, double holdout,
                                   Preparation* preparation);

  /// INVALID_ARGUMENT: a file that is named itself is empty, or all are; else as ReadDocuments()
  /// and WriteTaskText() have it.
  Status Read(const std::string& what, PartSink* sink);

 private:
  TextReader(const RequestedText* text, Preparation* preparation)
      : text_(text), preparation_(preparation) {}
  Status Survey(double holdout);
  Status ReadFiles(const std::string& what, PartSink* sink);

  const RequestedText* text_;
  Preparation* preparation_;
  std::vector<bool> held_out_;  // of the files' documents; empty: none
  uint64_t tail_ = 0;           // of a single document: where the part begins that is held out
  bool has_tail_ = false, said_empty_ = false;
};

}  // namespace gyre
