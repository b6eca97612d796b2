#pragma once

// The texts that have names, "corpus:NAME": those that Gyre knows how to fetch, and those that a
// user has named with `gyre data add` (GYRE_HOME/corpora/NAME.json: {"paths": [absolute, ...],
// "license": "...", and for JSON lines "field" or "template"}).

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/corpus_text.h"
#include "trainer/data/dataset.h"
#include "trainer/data/json_lines.h"

namespace gyre {

/// A corpus that comes out of a Debian package, already in its two parts.
struct BuiltInCorpus {
  std::string name, description, license, package;
  std::vector<std::string> files;  // within the package; .dz is unpacked
  Result<CorpusText> (*read)(const std::vector<std::string>& contents);
};
const std::vector<BuiltInCorpus>& BuiltInCorpora();
/// nullptr if Gyre has no such corpus of its own.
const BuiltInCorpus* FindBuiltInCorpus(const std::string& name);

/// Its text, from `package` or, if that is empty, fetched. Works in a folder of its own under
/// GYRE_HOME/tmp.
Result<CorpusText> ReadBuiltInCorpus(const BuiltInCorpus& corpus, const std::filesystem::path& home,
                                     const std::filesystem::path& package,
                                     const ProgressFn& progress);

/// A user's files under a name.
struct NamedCorpus {
  std::string name;
  std::vector<std::string> paths;  // absolute: files, folders, globs
  std::string license;
  RecordFormat format = {};  // of .jsonl files
};
/// INVALID_ARGUMENT: not a name; ALREADY_EXISTS: the name has other paths (unless `replace`), or is
/// one of Gyre's own.
Status AddNamedCorpus(const std::filesystem::path& home, const NamedCorpus& corpus, bool replace);
/// NOT_FOUND lists what there is.
Result<NamedCorpus> FindNamedCorpus(const std::filesystem::path& home, const std::string& name);
Result<std::vector<NamedCorpus>> ListNamedCorpora(const std::filesystem::path& home);

}  // namespace gyre
