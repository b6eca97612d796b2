#pragma once

// Which results databases refer to the objects of a folder, kept beside them: ROOT/databases has a
// small file a database, with its path. A coordinator notes its own when it starts; who deletes
// what nothing refers to must ask all of them.

#include <filesystem>
#include <vector>

#include "base/status.h"

namespace gyre {

/// The path that a database is noted by: absolute, whatever way it is named.
std::filesystem::path NotedPath(const std::filesystem::path& database);
/// Again and again is the same.
Status NoteDatabase(const std::filesystem::path& root, const std::filesystem::path& database);
/// Absolute paths, in order.
Result<std::vector<std::filesystem::path>> NotedDatabases(const std::filesystem::path& root);
/// NOT_FOUND: it is not noted.
Status ForgetDatabase(const std::filesystem::path& root, const std::filesystem::path& database);

}  // namespace gyre
