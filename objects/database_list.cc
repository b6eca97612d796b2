#include "objects/database_list.h"

#include <algorithm>
#include <system_error>

#include "base/files.h"
#include "base/hash.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPathBytes = 1 << 14;

fs::path NoteOf(const fs::path& root, const std::string& database) {
  return root / "databases" / Sha256Hex(database).substr(0, 16);
}

}  // namespace

fs::path NotedPath(const fs::path& database) {
  std::error_code error;
  const fs::path whole = fs::absolute(database), path = fs::weakly_canonical(whole, error);
  return error ? whole : path;
}

Status NoteDatabase(const fs::path& root, const fs::path& database) {
  const std::string path = NotedPath(database).string();
  const fs::path note = NoteOf(root, path);
  std::error_code error;
  if (fs::exists(note, error)) return OkStatus();
  GYRE_RETURN_IF_ERROR(MakeFolders(note.parent_path()));
  return WriteFileAtomically(note, path);
}

Result<std::vector<fs::path>> NotedDatabases(const fs::path& root) {
  std::vector<fs::path> databases;
  std::error_code error;
  for (fs::directory_iterator entry(root / "databases", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().has_extension()) continue;  // being written
    GYRE_ASSIGN_OR_RETURN(std::string path, ReadFile(entry->path(), kMaxPathBytes));
    databases.emplace_back(std::move(path));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return ErrnoStatus(error.value(), "cannot list " + (root / "databases").string());
  std::sort(databases.begin(), databases.end());
  return databases;
}

Status ForgetDatabase(const fs::path& root, const fs::path& database) {
  std::error_code error;
  if (fs::remove(NoteOf(root, NotedPath(database).string()), error)) return OkStatus();
  if (error) return ErrnoStatus(error.value(), "cannot forget " + database.string());
  return NotFound("no coordinator of " + root.string() + " has written " + database.string());
}

}  // namespace gyre
