#include "coordinator/store/schema.h"

#include <string>
#include <vector>

#include "coordinator/store/schema_models_sql.h"
#include "coordinator/store/schema_protocol_sql.h"
#include "coordinator/store/schema_sql.h"
#include "coordinator/store/schema_statistics_sql.h"

namespace gyre {
namespace {

// "gyre" in ASCII, the PRAGMA application_id by which a file is known as ours.
constexpr int64_t kApplicationId = 0x67797265;

// Element n brings a file from version n to n + 1. Only ever append; a released step never changes.
const std::vector<std::string>& Migrations() {
  static const auto* const migrations = new std::vector<std::string>{
      std::string(kTablesSql) + kViewsSql, kVersion2Sql,
      std::string(kStatisticsTablesSql) + kCurveViewsSql + kStatisticsViewsSql, kVersion4Sql,
      std::string(kModelsSql) + kModelViewsSql};
  return *migrations;
}

Result<int64_t> QueryInt(const Database& database, const char* sql) {
  GYRE_ASSIGN_OR_RETURN(Statement statement, database.Prepare(sql));
  GYRE_ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

Status Migrate(const Database& database, int64_t version) {
  const std::string script = "BEGIN IMMEDIATE;" + Migrations()[static_cast<size_t>(version)] +
                             ";PRAGMA application_id=" + std::to_string(kApplicationId) +
                             ";PRAGMA user_version=" + std::to_string(version + 1) + ";COMMIT";
  Status status = database.Execute(script);
  if (!status.ok()) {
    (void)database.Execute("ROLLBACK");
    return status.WithContext("cannot bring the schema to version " + std::to_string(version + 1));
  }
  return OkStatus();
}

}  // namespace

int SchemaVersion() { return static_cast<int>(Migrations().size()); }

Status CheckSchema(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(const int64_t application, QueryInt(database, "PRAGMA application_id"));
  GYRE_ASSIGN_OR_RETURN(const int64_t tables,
                        QueryInt(database, "SELECT count(*) FROM sqlite_schema"));
  if (application != kApplicationId && (application != 0 || tables != 0)) {
    return FailedPrecondition(
        "it is an SQLite database, but not one of Gyre's; choose another file");
  }
  GYRE_ASSIGN_OR_RETURN(const int64_t version, QueryInt(database, "PRAGMA user_version"));
  if (version > SchemaVersion()) {
    return FailedPrecondition("it was written by a newer Gyre (schema version " +
                              std::to_string(version) + ", this program knows up to " +
                              std::to_string(SchemaVersion()) +
                              "); use that version or a newer one");
  }
  return OkStatus();
}

Status MigrateSchema(const Database& database) {
  GYRE_RETURN_IF_ERROR(CheckSchema(database));
  GYRE_ASSIGN_OR_RETURN(int64_t version, QueryInt(database, "PRAGMA user_version"));
  for (; version < SchemaVersion(); ++version) {
    GYRE_RETURN_IF_ERROR(Migrate(database, version));
  }
  return OkStatus();
}

}  // namespace gyre
