#pragma once

// What a request's source stands for: corpora of our own, then tasks, then files, each in the order
// of the list.

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/corpora.h"
#include "trainer/data/source_files.h"
#include "trainer/data/task_text.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {

struct RequestedText {
  std::vector<const BuiltInCorpus*> corpora;
  std::vector<TaskText> tasks;
  TokenizerRequest tokenizer;  // whom tasks are written for
  std::vector<SourceFile> files;
  std::string name, license;
  std::string stamp;  // changes when the text may have
  Json canonical;     // the source with absolute paths

  /// Gyre's own corpora and tasks know their held-out part; the share changes nothing there.
  double HoldoutFor(const std::string& part, double holdout) const {
    return files.empty() || part == "all" ? 0 : holdout;
  }
};

/// Looks at names, sizes and times of files only. INVALID_ARGUMENT: not a source, or its files and
/// the tokenizer don't go together; else as ListSourceFiles() and FindNamedCorpus() have it.
Result<RequestedText> ResolveText(const std::filesystem::path& home, const Json& source,
                                  const TokenizerRequest& tokenizer);

/// JSON in messages and keys, whatever bytes are in it.
std::string JsonText(const Json& json);

}  // namespace gyre
