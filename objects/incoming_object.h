#pragma once

// A data set or an object on its way into a store: files grow under ROOT/tmp/incoming-KIND-HASH, a
// chunk at a time, and get their name when all is there and was held against it. What has come
// stays when the object is destroyed or the process dies, and whoever opens it next goes on. One at
// a time has it, of all processes (the file "lock" beside them).
//
// One thread.

#include <filesystem>
#include <stop_token>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "objects/object_store.h"

namespace gyre {

class IncomingObject {
 public:
  /// UNAVAILABLE: somebody else has it. INVALID_ARGUMENT: files that cannot be (CheckObjectFiles).
  /// RESOURCE_EXHAUSTED: the disk is full. What has come of files that are not among these, or more
  /// than they have, is thrown away.
  static Result<IncomingObject> Open(const ObjectStore& store, const ObjectRef& ref,
                                     const std::vector<ObjectFile>& files);
  IncomingObject(IncomingObject&&) noexcept = default;
  IncomingObject& operator=(IncomingObject&&) = delete;
  ~IncomingObject();

  /// What has come so far.
  const FileOffsets& offsets() const { return offsets_; }

  /// FAILED_PRECONDITION: the chunk is not where the file ends, nor at its beginning.
  /// INVALID_ARGUMENT: no such file, or beyond its size. RESOURCE_EXHAUSTED: the disk is full; what
  /// came before stays.
  Status Append(const FileChunk& chunk);

  /// Verifies, makes it durable and gives it its name; a damaged one of that name is replaced. Call
  /// once. FAILED_PRECONDITION: not all has come. DATA_LOSS: the content is not what the names say;
  /// all of it is thrown away. CANCELLED: `stop`; what has come stays.
  Status Finish(std::stop_token stop = {});

 private:
  IncomingObject(ObjectStore store, ObjectRef ref, std::vector<ObjectFile> files,
                 std::filesystem::path folder, FileLock lock);
  Status Prepare();
  Status Verify(const std::stop_token& stop) const;
  Status MoveIntoPlace();
  void Discard();

  ObjectStore store_;
  ObjectRef ref_;
  std::vector<ObjectFile> files_;
  std::filesystem::path folder_;
  ObjectStore inside_;  // laid out in folder_ as it will be in the store
  FileLock lock_;
  FileOffsets offsets_;
};

/// What has come of it so far, without a claim on it: somebody may be adding to it.
FileOffsets OffsetsOfIncoming(const ObjectStore& store, const ObjectRef& ref);

}  // namespace gyre
