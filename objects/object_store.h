#pragma once

// Data sets and objects on this machine's disk, below one folder (a GYRE_HOME, a folder that
// machines share, a worker's own copies): ROOT/datasets/HASH, ROOT/objects/HASH, and under ROOT/tmp
// what has not all come yet (incoming_object.h). Whatever stands under its name is whole.
//
// Holds a path and nothing else: copies are the same store. Any thread, any process.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "objects/object_ref.h"

namespace gyre {

inline constexpr size_t kChunkBytes = size_t{1} << 20;
inline constexpr size_t kMaxChunkBytes = size_t{4} << 20;
inline constexpr size_t kMaxObjectFiles = 16;

/// What an object's one file is called where files have names.
inline constexpr char kObjectFile[] = "object";

struct ObjectFile {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;  // of small files of data sets, whose hash does not cover all of them
};

/// Up to where a file is there, by its name.
using FileOffsets = std::map<std::string, int64_t>;

struct FileChunk {
  std::string file;
  int64_t offset = 0;
  std::string_view data;
};

/// INVALID_ARGUMENT unless these may be the files of such a thing: plain names, each once, few.
Status CheckObjectFiles(const ObjectRef& ref, const std::vector<ObjectFile>& files);

/// Of a whole file. CANCELLED: `stop`. NOT_FOUND and what else the system says.
Result<std::string> Sha256OfFile(const std::filesystem::path& path, std::stop_token stop = {});

class ObjectStore {
 public:
  explicit ObjectStore(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  /// A data set's folder, an object's file. The hash must be one (IsObjectHash).
  std::filesystem::path PathOf(const ObjectRef& ref) const;
  std::filesystem::path PathOf(const ObjectRef& ref, const std::string& file) const;

  /// Looks at names and sizes, not at content.
  bool Has(const ObjectRef& ref) const;
  /// Makes it as young as if it had come now, so that nobody takes it for garbage.
  void Touch(const ObjectRef& ref) const;
  /// Reads all of it. DATA_LOSS: the content is not what the name says. NOT_FOUND. CANCELLED:
  /// `stop`.
  Status Verify(const ObjectRef& ref, std::stop_token stop = {}) const;
  /// What is not there is gone already.
  Status Remove(const ObjectRef& ref) const;

  /// In order of name. NOT_FOUND; INVALID_ARGUMENT: files that CheckObjectFiles refuses.
  Result<std::vector<ObjectFile>> FilesOf(const ObjectRef& ref) const;
  /// Calls `sink` with chunk after chunk of `files` (FilesOf), each file from its offset in `have`
  /// (0 where there is none); a file without content is one empty chunk. Ends early, with OK, when
  /// `sink` says false.
  Status ReadChunks(const ObjectRef& ref, const std::vector<ObjectFile>& files,
                    const FileOffsets& have,
                    const std::function<bool(const FileChunk&)>& sink) const;

  /// A name that no other folder has, the same for all who see this one; made by the first who
  /// asks with `make`. Empty: there is none.
  Result<std::string> Identity(bool make) const;

 private:
  std::filesystem::path root_;
};

}  // namespace gyre
