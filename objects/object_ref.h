#pragma once

// How data sets and checkpoints are named everywhere: by a kind and the hash of their content.

#include <algorithm>
#include <compare>
#include <string>

namespace gyre {

enum class ObjectKind {
  kDataset,  // a folder of a few files: datasets/HASH
  kObject,   // one file, a checkpoint or weights: objects/HASH
};

struct ObjectRef {
  ObjectKind kind = ObjectKind::kObject;
  std::string hash;
  friend auto operator<=>(const ObjectRef&, const ObjectRef&) = default;
};

/// 64 lower-case hexadecimal digits: nothing else becomes part of a path.
inline bool IsObjectHash(const std::string& text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

/// "data set HASH", "object HASH".
inline std::string ToString(const ObjectRef& ref) {
  return (ref.kind == ObjectKind::kDataset ? "data set " : "object ") + ref.hash;
}

}  // namespace gyre
