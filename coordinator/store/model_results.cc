#include "coordinator/store/model_results.h"

#include <unistd.h>

#include <cerrno>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "coordinator/store/schema.h"
#include "coordinator/store/statistics_sql.h"
#include "results/database.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

std::string HashOf(const ModelRecord& model) {
  return Sha256Hex(model.weights_hash + "\n" + model.text_hash + "\n" + model.name + "\n" +
                   model.variant + "\n");
}

template <typename... Values>
Result<Statement> Bound(const Database& database, const char* sql, const Values&... values) {
  GYRE_ASSIGN_OR_RETURN(Statement statement, database.Prepare(sql));
  int index = 0;
  (statement.Bind(++index, values), ...);
  return statement;
}

template <typename... Values>
Status Run(const Database& database, const char* sql, const Values&... values) {
  GYRE_ASSIGN_OR_RETURN(Statement statement, Bound(database, sql, values...));
  return statement.Run();
}

Result<int64_t> VersionOf(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(Statement statement, database.Prepare("PRAGMA user_version"));
  GYRE_RETURN_IF_ERROR(statement.Step().status());
  return statement.Int(0);
}

// Of this program's version. The lock is a coordinator's: it is not needed to write some rows.
// Another analysis has it for as long as it takes to make the tables.
Result<Database> OpenUpToDate(const fs::path& path) {
  constexpr int kMostLooks = 40;
  constexpr Millis kBetweenLooks{25};
  if (!path.parent_path().empty()) GYRE_RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  for (int looks = 1;; ++looks) {
    const Result<FileLock> lock = FileLock::TryAcquire(path.string() + ".lock");
    if (!lock.ok() && lock.status().code() != StatusCode::kUnavailable) return lock.status();
    GYRE_ASSIGN_OR_RETURN(Database database, Database::OpenForWriting(path));
    if (lock.ok()) {
      GYRE_RETURN_IF_ERROR(MigrateSchema(database));
      return database;
    }
    GYRE_RETURN_IF_ERROR(CheckSchema(database));
    GYRE_ASSIGN_OR_RETURN(const int64_t version, VersionOf(database));
    if (version == SchemaVersion()) return database;
    if (looks == kMostLooks) break;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return Unavailable(
      "a coordinator of an older version has it; stop that, or name another file with --db");
}

// Whether a file could be made there.
Status CheckFolder(const fs::path& path) {
  std::error_code error;
  fs::path folder = fs::absolute(path).parent_path();
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  if (!fs::is_directory(folder, error)) return InvalidArgument(folder.string() + " is no folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return ErrnoStatus(errno, "cannot write to " + folder.string());
  }
  return OkStatus();
}

Status CheckName(const Database& database, const ModelRecord& model, bool replace) {
  const std::string shown = model.name + "/" + model.variant;
  {
    GYRE_ASSIGN_OR_RETURN(Statement sweep,
                          Bound(database, "SELECT 1 FROM sweeps WHERE name = ?", model.name));
    GYRE_ASSIGN_OR_RETURN(const bool is_sweep, sweep.Step());
    if (is_sweep) {
      return AlreadyExists("a sweep is called '" + model.name + "'; choose another --name");
    }
  }
  GYRE_ASSIGN_OR_RETURN(Statement taken,
                        Bound(database,
                              "SELECT path, text FROM models WHERE name = ? AND variant = ? AND "
                              "(weights <> ? OR text_hash <> ?)",
                              model.name, model.variant, model.weights_hash, model.text_hash));
  GYRE_ASSIGN_OR_RETURN(const bool row, taken.Step());
  if (!row || replace) return OkStatus();
  return AlreadyExists("there are other results by the name " + shown + ", of " + taken.Text(0) +
                       " on " + taken.Text(1) +
                       "; choose another --name or --variant, or give --replace");
}

Status Forget(const Database& database, const ModelRecord& model) {
  constexpr const char* kOwned[] = {"frequency_norms", "logit_shares",   "head_scores",
                                    "token_norms",     "attention_maps", "document_losses",
                                    "alignments"};
  for (const std::string table : kOwned) {
    GYRE_RETURN_IF_ERROR(Run(database,
                             ("DELETE FROM " + table +
                              " WHERE model_id IN (SELECT id FROM models WHERE name = ? AND "
                              "variant = ?)")
                                 .c_str(),
                             model.name, model.variant));
  }
  return Run(database, "DELETE FROM models WHERE name = ? AND variant = ?", model.name,
             model.variant);
}

Status Insert(const Database& database, const ModelResults& results, Millis wall) {
  const ModelRecord& model = results.model;
  GYRE_RETURN_IF_ERROR(
      Run(database,
          "INSERT INTO models (path, hash, config, name, variant, weights, rotation, text, "
          "text_hash, context, windows, tokens, loss, analysed_at) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
          model.path, HashOf(model), model.config, model.name, model.variant, model.weights_hash,
          model.rotation, model.text, model.text_hash, model.context, model.windows, model.tokens,
          model.loss, FormatUtc(wall)));
  const int64_t id = database.LastInsertId();
  GYRE_RETURN_IF_ERROR(PutStatistics(
      {.job = std::nullopt, .model = id, .attempt = std::nullopt}, results.statistics,
      [&](const char* sql, const auto&... rest) { return Run(database, sql, rest...); }));
  for (const AlignmentRow& row : results.alignments) {
    GYRE_RETURN_IF_ERROR(Run(database,
                             "INSERT INTO alignments (model_id, layer, head, bounds, own, "
                             "previous) VALUES (?,?,?,?,?,?)",
                             id, row.layer, row.head, statistics_rows::JsonOf(row.bounds),
                             statistics_rows::JsonOf(row.own),
                             statistics_rows::JsonOf(row.previous)));
  }
  return OkStatus();
}

Status Write(const fs::path& path, const ModelResults& results, Millis wall, bool replace) {
  GYRE_ASSIGN_OR_RETURN(const Database database, OpenUpToDate(path));
  GYRE_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  const Status written = [&]() -> Status {
    GYRE_RETURN_IF_ERROR(CheckName(database, results.model, replace));
    GYRE_RETURN_IF_ERROR(Forget(database, results.model));
    GYRE_RETURN_IF_ERROR(Insert(database, results, wall));
    return database.Execute("COMMIT");
  }();
  if (!written.ok()) (void)database.Execute("ROLLBACK");
  return written;
}

Status InDatabase(const fs::path& path, const Status& status) {
  if (status.ok() || status.code() == StatusCode::kAlreadyExists) return status;
  return status.WithContext("cannot use the database " + path.string());
}

}  // namespace

Status CheckModelPlace(const fs::path& path, const ModelRecord& model, bool replace) {
  std::error_code error;
  if (!fs::exists(path, error)) return InDatabase(path, CheckFolder(path));
  const Result<Database> database = OpenUpToDate(path);
  if (!database.ok()) return InDatabase(path, database.status());
  return InDatabase(path, CheckName(*database, model, replace));
}

Status WriteModelResults(const fs::path& path, const ModelResults& results, Millis wall,
                         bool replace) {
  return InDatabase(path, Write(path, results, wall, replace));
}

}  // namespace gyre
