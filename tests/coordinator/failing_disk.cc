#include "tests/coordinator/failing_disk.h"

#include <sqlite3.h>

#include <cstring>
#include <fstream>
#include <utility>

namespace gyre {
namespace {

sqlite3_vfs* real_disk = nullptr;

/// What SQLite allocates; the real file follows it.
struct File {
  sqlite3_file base;
  char* path;
  sqlite3_file* real;
};

File* Of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
const sqlite3_io_methods* Real(sqlite3_file* file) { return Of(file)->real->pMethods; }

bool WriteFails() { return FailingDisk::Get().Fails() || FailingDisk::Get().dead(); }

int Close(sqlite3_file* file) {
  const int code = Real(file)->xClose(Of(file)->real);
  delete[] std::exchange(Of(file)->path, nullptr);
  return code;
}
int Read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  if (FailingDisk::Get().Fails()) return SQLITE_IOERR_READ;
  return Real(file)->xRead(Of(file)->real, to, bytes, offset);
}
int Write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  FailingDisk& disk = FailingDisk::Get();
  sqlite3_file* const real = Of(file)->real;
  if (disk.dead()) return SQLITE_IOERR_WRITE;
  if (disk.full()) return SQLITE_FULL;
  const bool fails = disk.Fails();
  if (fails) bytes /= 2;  // torn
  if (disk.remembers()) {
    std::string before(static_cast<size_t>(bytes), '\0');
    (void)real->pMethods->xRead(real, before.data(), bytes, offset);  // zeros behind the end
    disk.Wrote(Of(file)->path, offset, std::move(before));
  }
  const int code = real->pMethods->xWrite(real, from, bytes, offset);
  return fails ? SQLITE_IOERR_WRITE : code;
}
int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (WriteFails()) return SQLITE_IOERR_TRUNCATE;
  return Real(file)->xTruncate(Of(file)->real, size);
}
int Sync(sqlite3_file* file, int flags) {
  if (WriteFails()) return SQLITE_IOERR_FSYNC;
  const int code = Real(file)->xSync(Of(file)->real, flags);
  if (code == SQLITE_OK) FailingDisk::Get().Synced(Of(file)->path);
  return code;
}
int FileSize(sqlite3_file* file, sqlite3_int64* size) {
  if (FailingDisk::Get().Fails()) return SQLITE_IOERR_FSTAT;
  return Real(file)->xFileSize(Of(file)->real, size);
}
int Lock(sqlite3_file* file, int lock) { return Real(file)->xLock(Of(file)->real, lock); }
int Unlock(sqlite3_file* file, int lock) { return Real(file)->xUnlock(Of(file)->real, lock); }
int CheckReservedLock(sqlite3_file* file, int* result) {
  return Real(file)->xCheckReservedLock(Of(file)->real, result);
}
int FileControl(sqlite3_file* file, int operation, void* argument) {
  return Real(file)->xFileControl(Of(file)->real, operation, argument);
}
int SectorSize(sqlite3_file* file) { return Real(file)->xSectorSize(Of(file)->real); }
int DeviceCharacteristics(sqlite3_file* file) {
  return Real(file)->xDeviceCharacteristics(Of(file)->real);
}
int ShmMap(sqlite3_file* file, int page, int bytes, int extend, void volatile** to) {
  if (FailingDisk::Get().Fails()) return SQLITE_IOERR_SHMMAP;
  return Real(file)->xShmMap(Of(file)->real, page, bytes, extend, to);
}
int ShmLock(sqlite3_file* file, int offset, int n, int flags) {
  return Real(file)->xShmLock(Of(file)->real, offset, n, flags);
}
void ShmBarrier(sqlite3_file* file) { Real(file)->xShmBarrier(Of(file)->real); }
int ShmUnmap(sqlite3_file* file, int remove) {
  return Real(file)->xShmUnmap(Of(file)->real, remove);
}

const sqlite3_io_methods* Methods() {
  static const sqlite3_io_methods methods = {2,
                                             Close,
                                             Read,
                                             Write,
                                             Truncate,
                                             Sync,
                                             FileSize,
                                             Lock,
                                             Unlock,
                                             CheckReservedLock,
                                             FileControl,
                                             SectorSize,
                                             DeviceCharacteristics,
                                             ShmMap,
                                             ShmLock,
                                             ShmBarrier,
                                             ShmUnmap,
                                             nullptr,
                                             nullptr};
  return &methods;
}

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  file->pMethods = nullptr;  // not to be closed
  if (FailingDisk::Get().Fails()) return SQLITE_CANTOPEN;
  Of(file)->real = reinterpret_cast<sqlite3_file*>(Of(file) + 1);
  const int code = real_disk->xOpen(real_disk, name, Of(file)->real, flags, out_flags);
  if (code != SQLITE_OK) return code;
  const std::string path = name != nullptr ? name : "";
  Of(file)->path = new char[path.size() + 1];
  std::memcpy(Of(file)->path, path.c_str(), path.size() + 1);
  file->pMethods = Methods();
  return SQLITE_OK;
}
int Delete(sqlite3_vfs*, const char* name, int sync) {
  if (WriteFails()) return SQLITE_IOERR_DELETE;
  FailingDisk::Get().Synced(name);
  return real_disk->xDelete(real_disk, name, sync);
}
int Access(sqlite3_vfs*, const char* name, int flags, int* result) {
  if (FailingDisk::Get().Fails()) return SQLITE_IOERR_ACCESS;
  return real_disk->xAccess(real_disk, name, flags, result);
}

void Install() {
  real_disk = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs disk = *real_disk;
  disk.szOsFile = static_cast<int>(sizeof(File)) + real_disk->szOsFile;
  disk.zName = "failing";
  disk.pNext = nullptr;
  disk.xOpen = Open;
  disk.xDelete = Delete;
  disk.xAccess = Access;
  sqlite3_vfs_register(&disk, /*makeDflt=*/1);
}

}  // namespace

FailingDisk& FailingDisk::Get() {
  static FailingDisk disk;
  return disk;
}

FailingDisk::FailingDisk() { Install(); }

void FailingDisk::FailAt(int64_t n, int64_t count) {
  until_failure_ = n;
  failures_ = count;
}

void FailingDisk::Heal() {
  until_failure_ = failures_ = 0;
  full_ = false;
}

bool FailingDisk::Fails() {
  if (suspended_ || failures_ == 0 || --until_failure_ > 0) return false;
  --failures_;
  return true;
}

void FailingDisk::Wrote(const std::string& path, int64_t offset, std::string before) {
  if (!path.empty()) unsynced_[path].push_back({offset, std::move(before)});
}

void FailingDisk::CutPower(std::mt19937_64* random) {
  for (auto& [path, writes] : unsynced_) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (auto write = writes.rbegin(); write != writes.rend() && file; ++write) {
      if ((*random)() % 2 == 0) continue;
      file.seekp(write->offset);
      file.write(write->before.data(), static_cast<std::streamsize>(write->before.size()));
    }
  }
  unsynced_.clear();
}

}  // namespace gyre
