#include "trainer/data/source_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "base/files.h"
#include "base/hash.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

bool IsGlob(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

Status CheckReadable(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const char* ending : {".jsonl", ".jsonl.gz", ".jsonl.zst"}) {
    if (name.ends_with(ending)) {
      return Unimplemented(
          path.string() +
          ": JSON lines are not yet supported; write each document to a .txt file of its "
          "own and name the folder");
    }
  }
  for (const char* ending : {".gz", ".zst", ".xz", ".bz2", ".zip", ".tar", ".bin", ".parquet"}) {
    if (name.ends_with(ending)) {
      return Unimplemented(path.string() + ": files ending in " + ending +
                           " are not yet supported; unpack it to .txt files");
    }
  }
  return OkStatus();
}

Result<struct stat> Stat(const fs::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR)
      return NotFound("no such file or folder: " + path.string());
    return ErrnoStatus(error, "cannot look at " + path.string());
  }
  return info;
}

// Collects files; all limits and duplicates are looked at here.
class Listing {
 public:
  Status AddPath(const std::string& path) {
    if (path.empty()) return InvalidArgument("an empty path where a text is wanted");
    struct stat info {};
    if (IsGlob(path) && stat(path.c_str(), &info) != 0) return AddGlob(path);
    return AddFileOrFolder(path, /*named=*/true);
  }
  std::vector<SourceFile> Take() { return std::move(files_); }

 private:
  Status AddFileOrFolder(const fs::path& path, bool named) {
    GYRE_ASSIGN_OR_RETURN(const struct stat info, Stat(path));
    if (S_ISDIR(info.st_mode)) return AddFolder(path);
    if (!S_ISREG(info.st_mode)) {
      return InvalidArgument(path.string() +
                             " is not a regular file; copy its text to a .txt file");
    }
    GYRE_RETURN_IF_ERROR(CheckReadable(path));
    return AddFile(path, info, named);
  }

  Status AddFile(const fs::path& path, const struct stat& info, bool named) {
    if (static_cast<uint64_t>(info.st_size) > kMaxSourceFileBytes) {
      return ResourceExhausted(path.string() + " has " + std::to_string(info.st_size) +
                               " bytes, more than the " + std::to_string(kMaxSourceFileBytes) +
                               " that one document may have; split it into several files");
    }
    if (!seen_.insert(AbsolutePath(path)).second) return OkStatus();
    if (files_.size() == kMaxSourceFiles) {
      return ResourceExhausted("more than " + std::to_string(kMaxSourceFiles) +
                               " text files; join them into fewer, larger ones");
    }
    files_.push_back({path, static_cast<uint64_t>(info.st_size),
                      int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec, named});
    return OkStatus();
  }

  Status AddFolder(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> found;
    fs::recursive_directory_iterator entry(folder, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() != ".txt") continue;
      found.push_back(entry->path());
      if (found.size() > kMaxSourceFiles) break;  // AddFile says so
    }
    if (error) return ErrnoStatus(error.value(), "cannot list the folder " + folder.string());
    std::sort(found.begin(), found.end());
    bool any = false;
    for (const fs::path& path : found) {
      GYRE_ASSIGN_OR_RETURN(const struct stat info, Stat(path));
      if (!S_ISREG(info.st_mode)) continue;
      any = true;
      GYRE_RETURN_IF_ERROR(AddFile(path, info, /*named=*/false));
    }
    if (!any) return NotFound("no .txt file in the folder " + folder.string() + " or below it");
    return OkStatus();
  }

  Status AddGlob(const std::string& pattern) {
    if (pattern.find("**") != std::string::npos) {
      return InvalidArgument(
          "'**' in " + pattern +
          " is not supported: name the folder, and all .txt files below it are taken");
    }
    glob_t matches{};
    const int code = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &matches);
    std::vector<std::string> paths(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    globfree(&matches);
    if (code == GLOB_NOSPACE) return ResourceExhausted("no memory for the matches of " + pattern);
    if (paths.empty()) return NotFound("nothing matches " + pattern);
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      GYRE_RETURN_IF_ERROR(AddFileOrFolder(path, /*named=*/false));
    }
    return OkStatus();
  }

  std::vector<SourceFile> files_;
  std::unordered_set<std::string> seen_;
};

void DropCarriageReturns(std::string* text) {
  size_t out = text->find("\r\n");
  if (out == std::string::npos) return;
  for (size_t in = out; in < text->size(); ++in) {
    const bool dropped = (*text)[in] == '\r' && in + 1 < text->size() && (*text)[in + 1] == '\n';
    if (!dropped) (*text)[out++] = (*text)[in];
  }
  text->resize(out);
}

}  // namespace

Result<std::vector<SourceFile>> ListSourceFiles(const std::vector<std::string>& paths) {
  Listing listing;
  for (const std::string& path : paths) GYRE_RETURN_IF_ERROR(listing.AddPath(path));
  std::vector<SourceFile> files = listing.Take();
  if (files.empty()) return InvalidArgument("an empty list where a text is wanted");
  return files;
}

std::string SourceStamp(const std::vector<SourceFile>& files) {
  Sha256 hash;
  for (const SourceFile& file : files) {
    // Lengths first: no name can look like the next field.
    const std::string path = AbsolutePath(file.path);
    hash.Update(std::to_string(path.size()) + ":" + path + ":" + std::to_string(file.size) + ":" +
                std::to_string(file.mtime_ns) + "\n");
  }
  return hash.Finish();
}

std::string AbsolutePath(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return (error ? path : absolute).lexically_normal().string();
}

Result<std::string> ReadSourceText(const SourceFile& file) {
  const auto changed = [&file](const char* how) {
    return Unavailable(file.path.string() + " " + how +
                       " while it was being read; run the command again");
  };
  auto content = ReadFile(file.path, kMaxSourceFileBytes);
  if (!content.ok()) {
    if (content.status().code() == StatusCode::kNotFound) return changed("vanished");
    return content.status();
  }
  const auto now = Stat(file.path);
  if (!now.ok()) return changed("vanished");
  if (content->size() != file.size ||
      int64_t{now->st_mtim.tv_sec} * 1'000'000'000 + now->st_mtim.tv_nsec != file.mtime_ns) {
    return changed("changed");
  }
  if (content->starts_with("\xFF\xFE") || content->starts_with("\xFE\xFF") ||
      content->starts_with(std::string_view("\0\0\xFE\xFF", 4))) {
    return InvalidArgument(
        file.path.string() +
        " is UTF-16 or UTF-32; convert it first: iconv -f UTF-16 -t UTF-8 OLD > NEW");
  }
  if (content->starts_with("\xEF\xBB\xBF")) content->erase(0, 3);
  DropCarriageReturns(&*content);
  return content;
}

}  // namespace gyre
