#pragma once

// A sweep file and the files that it `extends`, each read once. Reading itself is a function of the
// caller's: here nothing touches a disk.

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sweeps/spec/faults.h"
#include "sweeps/spec/source_text.h"
#include "sweeps/spec/sweep_spec.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {

class SourceFiles {
 public:
  /// `faults` has the named file as its file 0; `options` outlive this.
  SourceFiles(const SpecOptions& options, Faults* faults);

  /// The document and those that it is merged over, the nearest first. What cannot be read is
  /// reported and left out.
  std::vector<YamlRef> ChainOf(const YamlRef& document);

  /// Of each file the folder that its paths are relative to.
  const std::vector<std::string>& folders() const { return folders_; }
  /// What was read besides the named file, by absolute path.
  std::map<std::string, std::string> TakeTexts() { return std::move(texts_); }

 private:
  struct ExtendedFile {
    int number = 0;
    SourceText source{""};
    std::unique_ptr<YamlTree> tree;
    bool good = false;  // it has one document, and is without a fault so far
  };

  const ExtendedFile* Read(const std::string& path, const TextPlace& place,
                           const std::string& written);

  const SpecOptions& options_;
  Faults* faults_;
  std::string path_;  // of the named file
  size_t bytes_ = 0;
  std::vector<std::string> folders_;
  std::map<std::string, ExtendedFile> files_;  // by absolute path
  std::map<std::string, std::string> texts_;   // the same
};

}  // namespace gyre
