#pragma once

// Several coordinators may keep their objects in one folder (a home, a shared folder), each with a
// database of its own; jobs that are the same come to the same objects. So what one of them deletes
// is looked up in the others' databases first.

#include <filesystem>
#include <string>

#include "base/status.h"

namespace gyre {

/// Whether a database that is noted in `root` (objects/database_list.h), other than `own`, has the
/// checkpoint. One that is not there is not asked. Errors: one that cannot be read. Takes its time.
Result<bool> OtherDatabasesNeed(const std::filesystem::path& root, const std::filesystem::path& own,
                                const std::string& hash);

}  // namespace gyre
