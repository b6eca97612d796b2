#pragma once

// The files that a user's text stands in. A path is a file, a folder (its .txt files and those of
// the folders below, sorted by path) or a glob (its matches, sorted); a file named twice is taken
// once. Listing looks at names, sizes and times only, so it is quick; reading checks that the file
// is still the one that was listed.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

struct SourceFile {
  std::filesystem::path path;
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  bool named = false;  // by its own path, not found in a folder or by a glob
};

inline constexpr size_t kMaxSourceFiles = 1'000'000;
inline constexpr uint64_t kMaxSourceFileBytes = uint64_t{1} << 31;

/// Never empty. NOT_FOUND: a path or match that does not exist, a glob or folder without a text;
/// INVALID_ARGUMENT: not a text file; UNIMPLEMENTED: a kind of file that cannot be read yet;
/// RESOURCE_EXHAUSTED: more than kMaxSourceFiles.
Result<std::vector<SourceFile>> ListSourceFiles(const std::vector<std::string>& paths);

/// Changes whenever a file is added, removed, renamed, written or touched.
std::string SourceStamp(const std::vector<SourceFile>& files);

/// The file's text: a UTF-8 byte order mark is dropped, CRLF becomes LF, everything else stays as
/// it is, valid UTF-8 or not. UNAVAILABLE: the file vanished or changed since it was listed;
/// INVALID_ARGUMENT: UTF-16 or 32.
Result<std::string> ReadSourceText(const SourceFile& file);

/// Absolute and without "." and "..", by the text alone; as it is if there is no current folder any
/// more.
std::string AbsolutePath(const std::filesystem::path& path);

}  // namespace gyre
