#pragma once

// A consistent copy of a results database that is in use, and the way back. The copy is one file
// without a log beside it, checked before it gets its name; whatever goes wrong on the way, the
// name keeps what it had.
//
// Restoring cuts a timeline off: what workers have done since the copy is of attempts that the
// restored file knows, too. Their epoch is changed, so that every late word of them is refused and
// their jobs go on from the checkpoints of the file.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/status.h"
#include "objects/object_ref.h"

namespace gyre {

struct BackupFacts {
  int64_t bytes = 0, sweeps = 0, jobs = 0;
  std::vector<ObjectRef> objects;  // checkpoints, weights and data sets that its rows name
};

/// Copies the database `from`, also while a coordinator writes it. ALREADY_EXISTS: `to` is there,
/// and not `force`. NOT_FOUND: there is no `from`. DATA_LOSS, FAILED_PRECONDITION: it is damaged,
/// or not Gyre's. RESOURCE_EXHAUSTED: the disk is full.
Result<BackupFacts> BackUpDatabase(const std::filesystem::path& from,
                                   const std::filesystem::path& to, bool force);

/// Puts a copy in the place of the database `to`; with `force` in that of one which is there, which
/// is kept as TO.replaced. UNAVAILABLE: a coordinator has it. ALREADY_EXISTS without `force`. Else
/// as above.
Result<BackupFacts> RestoreDatabase(const std::filesystem::path& backup,
                                    const std::filesystem::path& to, bool force);

}  // namespace gyre
