#include "results/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

namespace gyre {
namespace {

constexpr int kBusyTimeoutMs = 5000;

Status SqliteStatus(sqlite3* db, int code, std::string_view what) {
  std::string message(what);
  message += ": ";
  message += db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  const int system_error = db != nullptr ? sqlite3_system_errno(db) : 0;
  if ((code & 0xff) == SQLITE_IOERR && system_error != 0) {
    message += " (" + std::generic_category().message(system_error) + ")";
  }
  switch (code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return ResourceExhausted(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable(message);
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return DataLoss(message);
    case SQLITE_CONSTRAINT:
    case SQLITE_READONLY:
      return FailedPrecondition(message);
    case SQLITE_ERROR:
    case SQLITE_AUTH:
      return InvalidArgument(message);
    case SQLITE_INTERRUPT:
      return Cancelled(message);
    case SQLITE_CANTOPEN:
      return system_error != 0 ? ErrnoStatus(system_error, message) : Internal(message);
    case SQLITE_IOERR:
      if (system_error == ENOSPC || system_error == EDQUOT) return ResourceExhausted(message);
      return Internal(message);
    default:
      return Internal(message);
  }
}

Result<sqlite3*> Open(const std::filesystem::path& path, int flags) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    Status status = SqliteStatus(db, code, "cannot open the database " + path.string());
    sqlite3_close(db);
    return status;
  }
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  return db;
}

// A file with a write-ahead log has two more beside it while it is read, which cannot be made where
// nobody may write; without a log nobody is writing, and they are not needed.
std::string UnchangingFile(const std::filesystem::path& path) {
  std::error_code error;
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path, error).string()) {
    if (c == '%') uri += "%25";
    if (c == '?') uri += "%3f";
    if (c == '#') uri += "%23";
    if (c != '%' && c != '?' && c != '#') uri += c;
  }
  return uri + "?immutable=1";
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : db_(other.db_),
      statement_(std::exchange(other.statement_, nullptr)),
      stepped_(other.stepped_),
      bind_error_(other.bind_error_) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(statement_, other.statement_);
  std::swap(stepped_, other.stepped_);
  std::swap(bind_error_, other.bind_error_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Reset() {
  sqlite3_reset(statement_);
  stepped_ = false;
}

Statement& Statement::Bind(int index, int64_t value) {
  if (stepped_) Reset();
  if (const int code = sqlite3_bind_int64(statement_, index, value)) bind_error_ = code;
  return *this;
}

Statement& Statement::Bind(int index, double value) {
  if (!std::isfinite(value)) return Bind(index, nullptr);
  if (stepped_) Reset();
  if (const int code = sqlite3_bind_double(statement_, index, value)) bind_error_ = code;
  return *this;
}

Statement& Statement::Bind(int index, std::string_view value) {
  if (stepped_) Reset();
  // An empty view may have a null pointer, which SQLite would take for NULL.
  const char* data = value.data() != nullptr ? value.data() : "";
  if (const int code = sqlite3_bind_text64(statement_, index, data, value.size(), SQLITE_TRANSIENT,
                                           SQLITE_UTF8)) {
    bind_error_ = code;
  }
  return *this;
}

Statement& Statement::Bind(int index, std::nullptr_t) {
  if (stepped_) Reset();
  if (const int code = sqlite3_bind_null(statement_, index)) bind_error_ = code;
  return *this;
}

Result<bool> Statement::Step() {
  if (const int code = std::exchange(bind_error_, 0)) {
    return Internal(std::string("cannot bind a value of \"") + sqlite3_sql(statement_) +
                    "\": " + sqlite3_errstr(code));
  }
  stepped_ = true;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    Reset();
    return false;
  }
  Status status = SqliteStatus(db_, code, "SQLite");
  Reset();
  return status;
}

Status Statement::Run() {
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return OkStatus();
  }
}

int Statement::columns() const { return sqlite3_column_count(statement_); }

std::string Statement::ColumnName(int column) const {
  const char* name = sqlite3_column_name(statement_, column);
  return name != nullptr ? name : "";
}

bool Statement::IsNull(int column) const { return Type(column) == SQLITE_NULL; }

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }

double Statement::Real(int column) const {
  if (IsNull(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_, column);
}

std::string Statement::Text(int column) const {
  const void* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return "";
  return {static_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

int Statement::Type(int column) const { return sqlite3_column_type(statement_, column); }

Result<Database> Database::OpenForWriting(const std::filesystem::path& path) {
  GYRE_ASSIGN_OR_RETURN(sqlite3* const handle,
                        Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  Database database(handle);
  const auto configure = [&]() -> Status {
    GYRE_ASSIGN_OR_RETURN(Statement journal, database.Prepare("PRAGMA journal_mode=WAL"));
    GYRE_ASSIGN_OR_RETURN(const bool row, journal.Step());
    if (!row || journal.Text(0) != "wal") {
      return FailedPrecondition(
          "its folder does not support SQLite's write-ahead log (WAL); "
          "keep the database on a local disk");
    }
    journal.Reset();
    return database.Execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON");
  };
  if (Status status = configure(); !status.ok()) {
    return status.WithContext("cannot open the database " + path.string());
  }
  return database;
}

Result<Database> Database::OpenForCopy(const std::filesystem::path& path) {
  GYRE_ASSIGN_OR_RETURN(sqlite3* const handle,
                        Open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  return Database(handle);
}

Result<Database> Database::OpenReadOnly(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return NotFound("there is no database " + path.string());
  // The first read is what finds a file that is no database.
  constexpr char kFirstRead[] = "PRAGMA query_only=ON; SELECT count(*) FROM sqlite_schema";
  GYRE_ASSIGN_OR_RETURN(sqlite3* const handle, Open(path, SQLITE_OPEN_READONLY));
  Database database(handle);
  Status status = database.Execute(kFirstRead);
  const int code = sqlite3_errcode(handle) & 0xff;
  if ((code == SQLITE_READONLY || code == SQLITE_CANTOPEN) &&
      !std::filesystem::exists(path.string() + "-wal", error)) {
    GYRE_ASSIGN_OR_RETURN(sqlite3* const unchanged,
                          Open(UnchangingFile(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI));
    database = Database(unchanged);
    status = database.Execute(kFirstRead);
  }
  if (!status.ok()) return status.WithContext("cannot read the database " + path.string());
  return database;
}

Database::Database(Database&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}

// close_v2: statements that outlive their connection keep it alive instead of dangling.
Database::~Database() { sqlite3_close_v2(db_); }

Result<Statement> Database::Prepare(std::string_view sql) const {
  if (sql.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return ResourceExhausted("an SQL statement of " + std::to_string(sql.size()) + " bytes");
  }
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(db_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) return SqliteStatus(db_, code, "SQLite");
  if (statement == nullptr) return InvalidArgument("SQLite: there is no statement in the SQL");
  return Statement(db_, statement);
}

Status Database::Execute(const std::string& sql) const {
  const int code = sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? OkStatus() : SqliteStatus(db_, code, "SQLite");
}

Status Database::QuickCheck() const {
  const auto check = [this]() -> Result<std::string> {
    GYRE_ASSIGN_OR_RETURN(Statement rows, Prepare("PRAGMA quick_check(3)"));
    std::string faults;
    while (true) {
      GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return faults;
      faults += (faults.empty() ? "" : "; ") + rows.Text(0);
    }
  };
  GYRE_ASSIGN_OR_RETURN(std::string faults, check());
  // A page that could not be read for once is among the faults, too; damage is there again.
  if (faults != "ok") {
    GYRE_ASSIGN_OR_RETURN(faults, check());
  }
  return faults == "ok" ? OkStatus() : DataLoss("the database is damaged: " + faults);
}

int64_t Database::LastInsertId() const { return sqlite3_last_insert_rowid(db_); }

int Database::Changes() const { return sqlite3_changes(db_); }

}  // namespace gyre
