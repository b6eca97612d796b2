#pragma once

// YAML text as a tree that knows where everything stands. yaml-cpp scans; the tree is ours because
// it keeps the marks, shares what an alias refers to instead of copying it (a nested-alias bomb
// stays as small as its file), applies `<<`, and refuses what has two meanings: duplicate keys,
// keys that are not plain names, merged maps that disagree.

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "sweeps/spec/faults.h"
#include "sweeps/spec/source_text.h"

namespace gyre {

struct YamlNode;

/// A use of a node. `place` is where it is used: of an alias the alias, not the anchor.
struct YamlRef {
  const YamlNode* node = nullptr;
  TextPlace place;
};

struct YamlEntry {
  std::string key;
  bool quoted = false;
  TextPlace place;  // of the key
  YamlRef value;
};

enum class YamlKind : uint8_t { kNull, kScalar, kSequence, kMapping };

struct YamlNode {
  YamlKind kind = YamlKind::kNull;
  bool quoted = false;    // a scalar in quotes, or a block of text
  bool complete = false;  // false while its children are read
  TextPlace place;
  std::string text;                // of a scalar
  std::vector<YamlRef> items;      // of a sequence
  std::vector<YamlEntry> entries;  // of a mapping, in the file's order, keys unique, `<<` applied

  bool IsNull() const { return kind == YamlKind::kNull; }
  bool IsScalar() const { return kind == YamlKind::kScalar; }
  bool IsSequence() const { return kind == YamlKind::kSequence; }
  bool IsMapping() const { return kind == YamlKind::kMapping; }
  const YamlEntry* Find(std::string_view key) const;
};

/// Documents of a file; empty ones (comments alone) are left out.
class YamlTree {
 public:
  /// `source` must be free of encoding faults. After a syntax fault there are only the documents
  /// before it. `file` is the source's number in `faults`.
  YamlTree(const SourceText& source, Faults* faults, int file = 0);
  YamlTree(const YamlTree&) = delete;
  YamlTree& operator=(const YamlTree&) = delete;

  const std::vector<YamlRef>& documents() const { return documents_; }

 private:
  friend class TreeBuilder;
  std::deque<YamlNode> nodes_;
  std::vector<YamlRef> documents_;
};

/// "a mapping", "a list", "empty", "'text'": for "..., and is ...".
std::string DescribeNode(const YamlNode& node);

}  // namespace gyre
