#include "trainer/data/source_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <unordered_set>

#include "base/hash.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

bool IsGlob(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

// "a.txt" of "a.txt.gz".
std::string WithoutPacking(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string_view ending : {".gz", ".zst"}) {
    if (name.ends_with(ending)) return name.substr(0, name.size() - ending.size());
  }
  return name;
}

// Whether it is taken out of a folder.
bool IsSourceName(const fs::path& path) {
  const std::string name = WithoutPacking(path);
  const bool packed = name != path.filename().string();
  return name.ends_with(".txt") || name.ends_with(".jsonl") || (!packed && name.ends_with(".bin"));
}

std::string KindName(SourceKind kind) {
  return kind == SourceKind::kText ? ".txt" : kind == SourceKind::kJsonLines ? ".jsonl" : ".bin";
}

Status CheckReadable(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const char* ending : {".parquet", ".arrow"}) {
    if (name.ends_with(ending)) {
      return Unimplemented(path.string() + ": files ending in " + ending +
                           " are not read; make JSON lines of it, in Python: "
                           "datasets.load_dataset(...).to_json(\"x.jsonl\")");
    }
  }
  for (const char* ending :
       {".xz", ".bz2", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.zst", ".bin.gz", ".bin.zst"}) {
    if (name.ends_with(ending)) {
      return Unimplemented(
          path.string() + ": files ending in " + ending +
          " are not read; unpack it (.txt and .jsonl may be packed as .gz or .zst)");
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

int64_t MtimeOf(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

// Collects files; all limits and duplicates are looked at here.
class Listing {
 public:
  Status Add(const SourcePath& source) {
    GYRE_RETURN_IF_ERROR(CheckRecordFormat(source.format).WithContext(source.path));
    format_ = source.format;
    const std::string& path = source.path;
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
    const SourceKind kind = SourceKindOf(path);
    if (kind != SourceKind::kJsonLines && format_ != RecordFormat()) {
      return InvalidArgument(path.string() +
                             " has no records: a field or a template is for .jsonl files");
    }
    if (!seen_.insert(AbsolutePath(path)).second) return OkStatus();
    if (files_.size() == kMaxSourceFiles) {
      return ResourceExhausted("more than " + std::to_string(kMaxSourceFiles) +
                               " text files; join them into fewer, larger ones");
    }
    files_.push_back(
        {path, static_cast<uint64_t>(info.st_size), MtimeOf(info), named, kind, format_});
    return OkStatus();
  }

  Status AddFolder(const fs::path& folder) {
    std::error_code error;
    std::vector<fs::path> found;
    fs::recursive_directory_iterator entry(folder, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (!IsSourceName(entry->path())) continue;
      found.push_back(entry->path());
      if (found.size() > kMaxSourceFiles) break;  // AddFile says so
    }
    if (error) return ErrnoStatus(error.value(), "cannot list the folder " + folder.string());
    std::sort(found.begin(), found.end());
    const fs::path* first = nullptr;
    for (const fs::path& path : found) {
      GYRE_ASSIGN_OR_RETURN(const struct stat info, Stat(path));
      if (!S_ISREG(info.st_mode)) continue;
      if (first == nullptr) first = &path;
      if (SourceKindOf(path) != SourceKindOf(*first)) {
        return InvalidArgument("the folder " + folder.string() + " has several kinds of texts (" +
                               first->filename().string() + ", " + path.filename().string() +
                               "); say which with a glob such as " +
                               (folder / ("*" + KindName(SourceKindOf(path)))).string());
      }
      GYRE_RETURN_IF_ERROR(AddFile(path, info, /*named=*/false));
    }
    if (first == nullptr) {
      return NotFound("no .txt, .jsonl or .bin file in the folder " + folder.string() +
                      " or below it");
    }
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

  RecordFormat format_;
  std::vector<SourceFile> files_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

SourceKind SourceKindOf(const fs::path& path) {
  const std::string name = WithoutPacking(path);
  if (name.ends_with(".jsonl")) return SourceKind::kJsonLines;
  return name.ends_with(".bin") ? SourceKind::kTokens : SourceKind::kText;
}

Result<std::vector<SourceFile>> ListSourceFiles(const std::vector<SourcePath>& paths) {
  Listing listing;
  for (const SourcePath& path : paths) GYRE_RETURN_IF_ERROR(listing.Add(path));
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

Status CheckUnchanged(const SourceFile& file) {
  const auto now = Stat(file.path);
  if (now.ok() && static_cast<uint64_t>(now->st_size) == file.size &&
      MtimeOf(*now) == file.mtime_ns) {
    return OkStatus();
  }
  const bool there = now.ok();
  return Unavailable(file.path.string() + (there ? " changed" : " vanished") +
                     " while it was being read; run the command again");
}

}  // namespace gyre
