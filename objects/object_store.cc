#include "objects/object_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/ids.h"
#include "trainer/data/dataset.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxSmallFileBytes = int64_t{16} << 20;
constexpr int64_t kMaxFileBytes = int64_t{1} << 42;
constexpr size_t kMaxNameBytes = 64;

bool IsPlainName(const std::string& name) {
  if (name.empty() || name.size() > kMaxNameBytes || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

struct OpenFile {
  explicit OpenFile(const fs::path& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
  const int fd;
};

/// At most `size` bytes at `offset`; fewer at the end of the file.
Result<size_t> ReadAt(const OpenFile& file, char* to, size_t size, int64_t offset,
                      const fs::path& path) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(file.fd, to + done, size - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "cannot read " + path.string());
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

}  // namespace

Status CheckObjectFiles(const ObjectRef& ref, const std::vector<ObjectFile>& files) {
  if (!IsObjectHash(ref.hash))
    return InvalidArgument("'" + ref.hash + "' is no hash of 64 lower-case hex digits");
  if (ref.kind == ObjectKind::kObject && (files.size() != 1 || files[0].name != kObjectFile))
    return InvalidArgument(ToString(ref) + " must be one file");
  if (files.empty() || files.size() > kMaxObjectFiles) {
    return InvalidArgument(ToString(ref) + " must have 1 to " + std::to_string(kMaxObjectFiles) +
                           " files, and this has " + std::to_string(files.size()));
  }
  std::set<std::string> names;
  for (const ObjectFile& file : files) {
    if (!IsPlainName(file.name) || !names.insert(file.name).second || file.bytes < 0 ||
        file.bytes > kMaxFileBytes) {
      return InvalidArgument(ToString(ref) + " has a file with a name or a size that cannot be");
    }
  }
  return OkStatus();
}

Result<std::string> Sha256OfFile(const fs::path& path, std::stop_token stop) {
  const OpenFile file(path);
  if (file.fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
  Sha256 hash;
  std::string buffer(kChunkBytes, '\0');
  for (int64_t offset = 0;;) {
    if (stop.stop_requested()) return Cancelled("broken off while reading " + path.string());
    GYRE_ASSIGN_OR_RETURN(const size_t got,
                          ReadAt(file, buffer.data(), buffer.size(), offset, path));
    hash.Update(buffer.data(), got);
    offset += static_cast<int64_t>(got);
    if (got < buffer.size()) return hash.Finish();
  }
}

fs::path ObjectStore::PathOf(const ObjectRef& ref) const {
  return root_ / (ref.kind == ObjectKind::kDataset ? "datasets" : "objects") / ref.hash;
}

fs::path ObjectStore::PathOf(const ObjectRef& ref, const std::string& file) const {
  return ref.kind == ObjectKind::kDataset ? PathOf(ref) / file : PathOf(ref);
}

bool ObjectStore::Has(const ObjectRef& ref) const {
  if (!IsObjectHash(ref.hash)) return false;
  if (ref.kind == ObjectKind::kDataset) return Dataset::Open(root_, ref.hash).ok();
  std::error_code error;
  return fs::is_regular_file(PathOf(ref), error);
}

void ObjectStore::Touch(const ObjectRef& ref) const {
  (void)utimensat(AT_FDCWD, PathOf(ref).c_str(), nullptr, 0);  // then it is as old as it is
}

Status ObjectStore::Verify(const ObjectRef& ref, std::stop_token stop) const {
  if (!IsObjectHash(ref.hash)) return NotFound("there is no " + ToString(ref));
  if (ref.kind == ObjectKind::kDataset) {
    GYRE_ASSIGN_OR_RETURN(const Dataset dataset, Dataset::Open(root_, ref.hash));
    return dataset.Verify(std::move(stop));
  }
  GYRE_ASSIGN_OR_RETURN(const std::string hash, Sha256OfFile(PathOf(ref), std::move(stop)));
  if (hash == ref.hash) return OkStatus();
  return DataLoss(PathOf(ref).string() + " is damaged: its content has another hash");
}

Status ObjectStore::Remove(const ObjectRef& ref) const {
  if (!IsObjectHash(ref.hash))
    return InvalidArgument("'" + ref.hash + "' is no hash of 64 lower-case hex digits");
  std::error_code error;
  fs::remove_all(PathOf(ref), error);
  if (error) return ErrnoStatus(error.value(), "cannot remove " + PathOf(ref).string());
  return OkStatus();
}

Result<std::vector<ObjectFile>> ObjectStore::FilesOf(const ObjectRef& ref) const {
  if (!Has(ref)) return NotFound("there is no " + ToString(ref) + " in " + root_.string());
  std::vector<ObjectFile> files;
  std::error_code error;
  if (ref.kind == ObjectKind::kObject) {
    files.push_back({kObjectFile, static_cast<int64_t>(fs::file_size(PathOf(ref), error)), ""});
    if (error) return ErrnoStatus(error.value(), "cannot stat " + PathOf(ref).string());
    return files;
  }
  for (fs::directory_iterator entry(PathOf(ref), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_regular_file(ignored)) continue;
    const auto bytes = static_cast<int64_t>(entry->file_size(ignored));
    files.push_back({entry->path().filename().string(), bytes, ""});
  }
  if (error) return ErrnoStatus(error.value(), "cannot list " + PathOf(ref).string());
  std::sort(files.begin(), files.end(), [](auto& a, auto& b) { return a.name < b.name; });
  GYRE_RETURN_IF_ERROR(CheckObjectFiles(ref, files));
  for (ObjectFile& file : files) {
    if (file.bytes > kMaxSmallFileBytes) continue;
    GYRE_ASSIGN_OR_RETURN(file.sha256, Sha256OfFile(PathOf(ref, file.name)));
  }
  return files;
}

Status ObjectStore::ReadChunks(const ObjectRef& ref, const std::vector<ObjectFile>& files,
                               const FileOffsets& have,
                               const std::function<bool(const FileChunk&)>& sink) const {
  std::string buffer(kChunkBytes, '\0');
  for (const ObjectFile& info : files) {
    const fs::path path = PathOf(ref, info.name);
    const OpenFile file(path);
    if (file.fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
    const auto known = have.find(info.name);
    int64_t offset = known == have.end() ? 0 : known->second;
    if (offset < 0 || offset > info.bytes) offset = 0;
    if (offset > 0 && offset == info.bytes) continue;
    do {
      const auto wanted = std::min(static_cast<int64_t>(buffer.size()), info.bytes - offset);
      GYRE_ASSIGN_OR_RETURN(const size_t got,
                            ReadAt(file, buffer.data(), static_cast<size_t>(wanted), offset, path));
      if (static_cast<int64_t>(got) < wanted)
        return Unavailable(path.string() + " has become shorter while it was read");
      if (!sink({info.name, offset, std::string_view(buffer).substr(0, got)})) return OkStatus();
      offset += wanted;
    } while (offset < info.bytes);
  }
  return OkStatus();
}

Result<std::string> ObjectStore::Identity(bool make) const {
  const fs::path path = root_ / "store-id";
  const auto found = ReadFile(path, 256);
  if (found.ok() && !found->empty()) return *found;
  if (!found.ok() && found.status().code() != StatusCode::kNotFound) return found.status();
  if (!make) return std::string();
  GYRE_RETURN_IF_ERROR(MakeFolders(root_));
  // Of two who make it at once, the later one's stands for both.
  GYRE_RETURN_IF_ERROR(WriteFileAtomically(path, NewId()));
  return ReadFile(path, 256);
}

}  // namespace gyre
