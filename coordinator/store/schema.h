#pragma once

// The results database as SQL: the tables and views people see, and how older files become newer
// ones. Names are a public contract; every table and column carries its comment inside the file
// (`.schema` shows them).

#include "base/status.h"
#include "results/database.h"

namespace gyre {

/// The version that this program writes: PRAGMA user_version.
int SchemaVersion();

/// FAILED_PRECONDITION: somebody else's database, or one from a newer program. An empty file is
/// neither.
Status CheckSchema(const Database& database);

/// Makes an empty file Gyre's, or brings an older one up to SchemaVersion(), each step in one
/// transaction. FAILED_PRECONDITION: somebody else's database, or one from a newer program.
Status MigrateSchema(const Database& database);

}  // namespace gyre
