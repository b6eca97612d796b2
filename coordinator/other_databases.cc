#include "coordinator/other_databases.h"

#include <system_error>
#include <vector>

#include "objects/database_list.h"
#include "results/database.h"

namespace gyre {

Result<bool> OtherDatabasesNeed(const std::filesystem::path& root, const std::filesystem::path& own,
                                const std::string& hash) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::filesystem::path> databases, NotedDatabases(root));
  for (const std::filesystem::path& path : databases) {
    std::error_code error;
    if (std::filesystem::equivalent(path, own, error)) continue;
    const auto database = Database::OpenReadOnly(path);
    if (database.status().code() == StatusCode::kNotFound) continue;
    if (!database.ok()) return database.status();
    GYRE_ASSIGN_OR_RETURN(Statement rows,
                          database->Prepare("SELECT 1 FROM checkpoints WHERE hash = ?"));
    GYRE_ASSIGN_OR_RETURN(const bool needed, rows.Bind(1, hash).Step());
    if (needed) return true;
  }
  return false;
}

}  // namespace gyre
