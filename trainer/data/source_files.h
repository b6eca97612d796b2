#pragma once

// The files that a user's text stands in. A path is a file, a folder (the files in it and below it
// whose names say that they can be read, all of one kind, sorted by path) or a glob (its matches,
// sorted); a file named twice is taken once. Listing looks at names, sizes and times only, so it is
// quick; document_reader.h reads, and checks that the file is still the one that was listed.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/json_lines.h"

namespace gyre {

enum class SourceKind { kText, kJsonLines, kTokens };

struct SourceFile {
  std::filesystem::path path;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool named = false;  // by its own path, not found in a folder or by a glob
  SourceKind kind = SourceKind::kText;
  RecordFormat format = {};          // kJsonLines
  int ids = 0, document_start = -1;  // kTokens: ids below `ids`, and which one begins a document
};

struct SourcePath {
  std::string path;
  RecordFormat format = {};
};

inline constexpr size_t kMaxSourceFiles = 1'000'000;

/// By the name alone: .jsonl is JSON lines, .bin is token ids, everything else is text; .gz and
/// .zst after it change nothing.
SourceKind SourceKindOf(const std::filesystem::path& path);

/// Never empty. NOT_FOUND: a path or match that does not exist, a glob or folder without a text;
/// INVALID_ARGUMENT: not a text file, a folder with several kinds of files, a record format for
/// files that have no records; UNIMPLEMENTED: a kind of file that cannot be read;
/// RESOURCE_EXHAUSTED: more than kMaxSourceFiles.
Result<std::vector<SourceFile>> ListSourceFiles(const std::vector<SourcePath>& paths);

/// Changes whenever a file is added, removed, renamed, written or touched.
std::string SourceStamp(const std::vector<SourceFile>& files);

/// UNAVAILABLE: the file vanished or changed since it was listed.
Status CheckUnchanged(const SourceFile& file);

/// Absolute and without "." and "..", by the text alone; as it is if there is no current folder any
/// more.
std::string AbsolutePath(const std::filesystem::path& path);

}  // namespace gyre
