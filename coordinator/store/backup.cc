#include "coordinator/store/backup.h"

#include <sqlite3.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <system_error>

#include "base/files.h"
#include "base/ids.h"
#include "coordinator/store/schema.h"
#include "results/database.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

/// A file on its way to its name; gone again unless it has come there.
class Incoming {
 public:
  explicit Incoming(const fs::path& to) : path_(to.string() + ".incoming-" + NewId()) {}
  ~Incoming() {
    std::error_code ignored;
    for (const char* part : {"", "-journal", "-wal", "-shm"})
      fs::remove(path_.string() + part, ignored);
  }
  const fs::path& path() const { return path_; }

  Status MoveTo(const fs::path& to) const {
    GYRE_RETURN_IF_ERROR(SyncPath(path_));
    std::error_code error;
    fs::rename(path_, to, error);
    if (error) return ErrnoStatus(error.value(), "cannot write " + to.string());
    return SyncPath(fs::absolute(to, error).parent_path());
  }

 private:
  const fs::path path_;
};

Result<int64_t> Number(const Database& database, const char* sql) {
  GYRE_ASSIGN_OR_RETURN(Statement statement, database.Prepare(sql));
  GYRE_ASSIGN_OR_RETURN(const bool row, statement.Step());
  return row ? statement.Int(0) : 0;
}

/// In one read transaction, so that a writer beside it makes no difference.
Status CopyPages(const Database& from, const Database& to, const fs::path& path) {
  sqlite3_backup* copy = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  if (copy == nullptr) return Internal(sqlite3_errmsg(to.handle()));
  const int code = sqlite3_backup_step(copy, -1);
  sqlite3_backup_finish(copy);
  if (code == SQLITE_DONE) return OkStatus();
  const std::string message = "cannot write " + path.string() + ": " + sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ResourceExhausted(message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DataLoss(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable(message);
    default:
      if (sqlite3_system_errno(to.handle()) == ENOSPC) return ResourceExhausted(message);
      return Internal(message);
  }
}

/// Hashes in a cell: one, or the JSON of a list or a mapping of several.
void AddHashes(const std::string& cell, ObjectKind kind, std::set<ObjectRef>* refs) {
  if (IsObjectHash(cell)) refs->insert({kind, cell});
  const auto json = nlohmann::json::parse(cell, nullptr, false);
  if (!json.is_structured()) return;
  const auto flat = json.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (value.is_string() && IsObjectHash(value.get<std::string>())) {
      refs->insert({kind, value.get<std::string>()});
    }
  }
}

Result<BackupFacts> FactsOf(const Database& database) {
  BackupFacts facts;
  GYRE_ASSIGN_OR_RETURN(facts.sweeps, Number(database, "SELECT count(*) FROM sweeps"));
  GYRE_ASSIGN_OR_RETURN(facts.jobs, Number(database, "SELECT count(*) FROM jobs"));
  std::set<ObjectRef> refs;
  const auto add = [&](const char* sql, ObjectKind kind) -> Status {
    GYRE_ASSIGN_OR_RETURN(Statement rows, database.Prepare(sql));
    while (true) {
      GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return OkStatus();
      for (int i = 0; i < rows.columns(); ++i) AddHashes(rows.Text(i), kind, &refs);
    }
  };
  GYRE_RETURN_IF_ERROR(add("SELECT hash FROM checkpoints", ObjectKind::kObject));
  // Only what a job that is still to be trained starts from and reads.
  GYRE_ASSIGN_OR_RETURN(const int64_t version, Number(database, "PRAGMA user_version"));
  if (version > 1) {
    GYRE_RETURN_IF_ERROR(
        add("SELECT DISTINCT v.initial_weights FROM variants v JOIN jobs j ON j.variant_id = v.id "
            "WHERE j.state <> 'SUCCEEDED'",
            ObjectKind::kObject));
  }
  GYRE_RETURN_IF_ERROR(
      add("SELECT DISTINCT v.train_dataset, v.validation_datasets FROM variants v "
          "JOIN jobs j ON j.variant_id = v.id WHERE j.state <> 'SUCCEEDED'",
          ObjectKind::kDataset));
  facts.objects.assign(refs.begin(), refs.end());
  return facts;
}

/// A checked copy of `from` under the name of `incoming`; to `restore`, of this program's schema
/// and with its timeline cut off.
Result<BackupFacts> MakeCopy(const fs::path& from, const Incoming& incoming, bool restore) {
  BackupFacts facts;
  {
    GYRE_ASSIGN_OR_RETURN(const Database source, Database::OpenReadOnly(from));
    GYRE_RETURN_IF_ERROR(CheckSchema(source).WithContext(from.string()));
    GYRE_ASSIGN_OR_RETURN(const int64_t version, Number(source, "PRAGMA user_version"));
    if (version == 0) return FailedPrecondition(from.string() + ": the database is empty");
    GYRE_ASSIGN_OR_RETURN(const Database copy, Database::OpenForCopy(incoming.path()));
    GYRE_RETURN_IF_ERROR(CopyPages(source, copy, incoming.path()));
    // One file, that can be read where nothing can be written.
    GYRE_RETURN_IF_ERROR(copy.Execute("PRAGMA journal_mode=DELETE"));
    GYRE_RETURN_IF_ERROR(copy.QuickCheck().WithContext(from.string()));
    if (restore) {
      GYRE_RETURN_IF_ERROR(MigrateSchema(copy));
      GYRE_ASSIGN_OR_RETURN(Statement update, copy.Prepare("UPDATE attempts SET epoch = ? "
                                                           "WHERE state IN ('LEASED', 'RUNNING')"));
      GYRE_RETURN_IF_ERROR(update.Bind(1, "restored-" + NewId()).Run());
    }
    GYRE_ASSIGN_OR_RETURN(facts, FactsOf(copy));
  }
  std::error_code error;
  facts.bytes = static_cast<int64_t>(fs::file_size(incoming.path(), error));
  return facts;
}

/// A free name for what is replaced: nothing that was put aside before is lost.
fs::path AsideName(const fs::path& path) {
  std::error_code ignored;
  fs::path aside = path.string() + ".replaced";
  for (int i = 2; fs::exists(aside, ignored); ++i) {
    aside = path.string() + ".replaced-" + std::to_string(i);
  }
  return aside;
}

/// Folds its log into the database that is to be replaced, and gives it a second name: a log of
/// another database beside a new one would damage that.
Status PutAside(const fs::path& path) {
  Status folded = [&]() -> Status {
    GYRE_ASSIGN_OR_RETURN(const Database old, Database::OpenForWriting(path));
    GYRE_ASSIGN_OR_RETURN(Statement mode, old.Prepare("PRAGMA journal_mode=DELETE"));
    GYRE_RETURN_IF_ERROR(mode.Step().status());
    if (mode.Text(0) == "delete") return OkStatus();
    return Unavailable(path.string() + " is being read by another program");
  }();
  std::error_code error;
  for (const char* part : {"-wal", "-journal"}) {
    if (folded.ok() && fs::exists(path.string() + part, error)) {
      folded = Unavailable(path.string() + part + " could not be removed");
    }
  }
  if (!folded.ok()) {
    return folded.WithContext("cannot put the old database aside; move it away by hand, with " +
                              path.filename().string() + "-wal and -shm");
  }
  const fs::path aside = AsideName(path);
  fs::create_hard_link(path, aside, error);
  if (error) return ErrnoStatus(error.value(), "cannot keep the old database as " + aside.string());
  return OkStatus();
}

}  // namespace

Result<BackupFacts> BackUpDatabase(const fs::path& from, const fs::path& to, bool force) {
  std::error_code error;
  if (fs::exists(to, error) && !force) {
    return AlreadyExists(to.string() + " is there already; name another file, or give --force");
  }
  if (fs::equivalent(from, to, error)) {
    return InvalidArgument(to.string() + " is the database itself");
  }
  if (!to.parent_path().empty()) GYRE_RETURN_IF_ERROR(MakeFolders(to.parent_path()));
  const Incoming incoming(to);
  GYRE_ASSIGN_OR_RETURN(BackupFacts facts, MakeCopy(from, incoming, false));
  GYRE_RETURN_IF_ERROR(incoming.MoveTo(to));
  return facts;
}

Result<BackupFacts> RestoreDatabase(const fs::path& backup, const fs::path& to, bool force) {
  std::error_code error;
  if (!to.parent_path().empty()) GYRE_RETURN_IF_ERROR(MakeFolders(to.parent_path()));
  const Result<FileLock> lock = FileLock::TryAcquire(to.string() + ".lock");
  if (!lock.ok()) {
    if (lock.status().code() != StatusCode::kUnavailable) return lock.status();
    return Unavailable("the database " + to.string() +
                       " is in use by a coordinator; stop that first");
  }
  const bool exists = fs::exists(to, error);
  if (exists && !force) {
    return AlreadyExists("the database " + to.string() +
                         " is there already; name another with --db, or give --force, which keeps "
                         "the old one as " +
                         AsideName(to).filename().string());
  }
  if (exists && fs::equivalent(backup, to, error)) {
    return InvalidArgument(backup.string() + " is the database itself");
  }
  if (!exists) {
    // A log whose database is gone would damage the new one.
    for (const char* part : {"-wal", "-shm"}) {
      const fs::path left = to.string() + part;
      if (fs::exists(left, error)) fs::rename(left, AsideName(left), error);
      if (error) return ErrnoStatus(error.value(), "cannot put " + left.string() + " aside");
    }
  }
  const Incoming incoming(to);
  GYRE_ASSIGN_OR_RETURN(BackupFacts facts, MakeCopy(backup, incoming, true));
  if (exists) GYRE_RETURN_IF_ERROR(PutAside(to));
  GYRE_RETURN_IF_ERROR(incoming.MoveTo(to));
  return facts;
}

}  // namespace gyre
