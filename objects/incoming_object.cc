#include "objects/incoming_object.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "incoming-";
constexpr char kLock[] = "lock";

// Left on the disk for those who cannot wait: a database, a log.
constexpr uint64_t kReserveBytes = uint64_t{64} << 20;
constexpr uint64_t kReserveShare = 50;  // at most one in so many bytes of a small disk

fs::path FolderOf(const ObjectStore& store, const ObjectRef& ref) {
  const char* kind = ref.kind == ObjectKind::kDataset ? "dataset-" : "object-";
  return store.root() / "tmp" / (kPrefix + std::string(kind) + ref.hash);
}

Status CheckRoom(const fs::path& folder, size_t bytes) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) return OkStatus();  // writing will tell
  const uint64_t total = uint64_t{info.f_blocks} * info.f_frsize;
  const uint64_t free = uint64_t{info.f_bavail} * info.f_frsize;
  if (free >= bytes + std::min(kReserveBytes, total / kReserveShare)) return OkStatus();
  return ResourceExhausted("the disk of " + folder.string() + " is full");
}

struct WrittenFile {
  explicit WrittenFile(const fs::path& path, int flags)
      : fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644)) {}
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;
  ~WrittenFile() {
    if (fd >= 0) close(fd);
  }
  const int fd;
};

}  // namespace

FileOffsets OffsetsOfIncoming(const ObjectStore& store, const ObjectRef& ref) {
  FileOffsets offsets;
  if (!IsObjectHash(ref.hash)) return offsets;
  const ObjectStore inside(FolderOf(store, ref));
  std::error_code error;
  if (ref.kind == ObjectKind::kObject) {
    const auto bytes = fs::file_size(inside.PathOf(ref), error);
    if (!error) offsets[kObjectFile] = static_cast<int64_t>(bytes);
    return offsets;
  }
  for (fs::directory_iterator entry(inside.PathOf(ref), error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const auto bytes = entry->file_size(gone);
    if (!gone) offsets[entry->path().filename().string()] = static_cast<int64_t>(bytes);
  }
  return offsets;
}

IncomingObject::IncomingObject(ObjectStore store, ObjectRef ref, std::vector<ObjectFile> files,
                               fs::path folder, FileLock lock)
    : store_(std::move(store)),
      ref_(std::move(ref)),
      files_(std::move(files)),
      folder_(std::move(folder)),
      inside_(folder_),
      lock_(std::move(lock)) {}

IncomingObject::~IncomingObject() = default;

Result<IncomingObject> IncomingObject::Open(const ObjectStore& store, const ObjectRef& ref,
                                            const std::vector<ObjectFile>& files) {
  GYRE_RETURN_IF_ERROR(CheckObjectFiles(ref, files));
  const fs::path folder = FolderOf(store, ref);
  Status status;
  // Whoever had it may take the folder away at any moment.
  for (int attempt = 0; attempt < 3; ++attempt) {
    GYRE_RETURN_IF_ERROR(MakeFolders(folder));
    auto lock = FileLock::TryAcquire(folder / kLock);
    if (lock.ok()) {
      IncomingObject incoming(store, ref, files, folder, *std::move(lock));
      GYRE_RETURN_IF_ERROR(incoming.Prepare());
      return incoming;
    }
    status = lock.status();
    if (status.code() == StatusCode::kUnavailable)
      return Unavailable(ToString(ref) + " is on its way already");
    if (status.code() != StatusCode::kNotFound) break;
  }
  return status;
}

Status IncomingObject::Prepare() {
  GYRE_RETURN_IF_ERROR(MakeFolders(inside_.PathOf(ref_, kObjectFile).parent_path()));
  for (const auto& [name, bytes] : OffsetsOfIncoming(store_, ref_)) {
    const auto file = std::find_if(files_.begin(), files_.end(),
                                   [&name = name](auto& file) { return file.name == name; });
    if (file != files_.end() && bytes <= file->bytes) {
      offsets_[name] = bytes;
      continue;
    }
    std::error_code error;
    fs::remove_all(inside_.PathOf(ref_, name), error);
    if (error)
      return ErrnoStatus(error.value(), "cannot remove what has come of " + ToString(ref_));
  }
  return OkStatus();
}

Status IncomingObject::Append(const FileChunk& chunk) {
  const auto file = std::find_if(files_.begin(), files_.end(),
                                 [&](auto& file) { return file.name == chunk.file; });
  if (file == files_.end() || chunk.offset < 0 ||
      chunk.offset + static_cast<int64_t>(chunk.data.size()) > file->bytes) {
    return InvalidArgument("a chunk is of no file of " + ToString(ref_) + ", or beyond its end");
  }
  const auto known = offsets_.find(chunk.file);
  const int64_t end = known == offsets_.end() ? 0 : known->second;
  if (chunk.offset != end && chunk.offset != 0) {
    return FailedPrecondition("a chunk of " + chunk.file + " begins at " +
                              std::to_string(chunk.offset) + ", and the file ends at " +
                              std::to_string(end));
  }
  GYRE_RETURN_IF_ERROR(CheckRoom(folder_, chunk.data.size()));
  const fs::path path = inside_.PathOf(ref_, chunk.file);
  const WrittenFile written(path, chunk.offset == 0 ? O_TRUNC : 0);
  if (written.fd < 0) return ErrnoStatus(errno, "cannot open " + path.string());
  int64_t& offset = offsets_[chunk.file];
  offset = chunk.offset;
  std::string_view rest = chunk.data;
  while (!rest.empty()) {
    const ssize_t got = pwrite(written.fd, rest.data(), rest.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, "cannot write " + path.string());
    offset += got;
    rest.remove_prefix(static_cast<size_t>(got));
  }
  return OkStatus();
}

Status IncomingObject::Verify(const std::stop_token& stop) const {
  for (const ObjectFile& file : files_) {
    const auto known = offsets_.find(file.name);
    if (known == offsets_.end() || known->second != file.bytes)
      return FailedPrecondition("the file " + file.name + " of " + ToString(ref_) +
                                " is not whole");
  }
  for (const ObjectFile& file : files_) {
    if (file.sha256.empty()) continue;
    GYRE_ASSIGN_OR_RETURN(const std::string hash, Sha256OfFile(inside_.PathOf(ref_, file.name)));
    if (hash != file.sha256)
      return DataLoss("the file " + file.name + " of " + ToString(ref_) + " came damaged");
  }
  const Status status = inside_.Verify(ref_, stop);
  if (status.ok() || status.code() == StatusCode::kResourceExhausted ||
      status.code() == StatusCode::kCancelled) {
    return status;
  }
  return DataLoss("what came as " + ToString(ref_) + " has another content (" + status.message() +
                  ")");
}

Status IncomingObject::Finish(std::stop_token stop) {
  if (Status status = Verify(stop); !status.ok()) {
    if (status.code() == StatusCode::kDataLoss) Discard();
    return status;
  }
  for (const ObjectFile& file : files_)
    GYRE_RETURN_IF_ERROR(SyncPath(inside_.PathOf(ref_, file.name)));
  GYRE_RETURN_IF_ERROR(SyncPath(inside_.PathOf(ref_, kObjectFile).parent_path()));
  GYRE_RETURN_IF_ERROR(MoveIntoPlace());
  Discard();
  return OkStatus();
}

Status IncomingObject::MoveIntoPlace() {
  const fs::path from = inside_.PathOf(ref_), place = store_.PathOf(ref_);
  GYRE_RETURN_IF_ERROR(MakeFolders(place.parent_path()));
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (rename(from.c_str(), place.c_str()) == 0) return SyncPath(place.parent_path());
    // A folder does not take the place of another, nor of a link or a file.
    if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR)
      return ErrnoStatus(errno, "cannot rename to " + place.string());
    if (store_.Has(ref_)) return OkStatus();
    std::error_code ignored;
    fs::rename(place, folder_ / "damaged", ignored);  // goes with the folder
  }
  return Unavailable("cannot put " + place.string() + " in its place: others keep writing it");
}

void IncomingObject::Discard() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);  // the lock file with it
}

}  // namespace gyre
