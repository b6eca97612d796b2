#pragma once

// SQLite as the rest of Gyre sees it: a connection, prepared statements, values. The only users are
// coordinator/store (the one writer) and results/ (readers). Errors carry SQLite's text;
// SQLITE_FULL is RESOURCE_EXHAUSTED, SQLITE_BUSY UNAVAILABLE, SQLITE_NOTADB and SQLITE_CORRUPT
// DATA_LOSS, SQLITE_CONSTRAINT FAILED_PRECONDITION, a fault of the SQL text or a refusal of the
// authorizer INVALID_ARGUMENT, sqlite3_interrupt CANCELLED. A connection belongs to one thread at a
// time.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gyre {

class Database;

/// A prepared statement. Bind 1, 2, ...; Step() until it answers false; columns count from 0. It
/// resets itself at the end, at an error, and when it is bound again after a Step().
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  Statement& Bind(int index, int64_t value);
  Statement& Bind(int index, int value) { return Bind(index, static_cast<int64_t>(value)); }
  Statement& Bind(int index, double value);  // NaN and infinities become NULL
  Statement& Bind(int index, std::string_view value);
  Statement& Bind(int index, const char* value) { return Bind(index, std::string_view(value)); }
  Statement& Bind(int index, std::nullptr_t);
  template <typename T>
  Statement& Bind(int index, const std::optional<T>& value) {
    return value ? Bind(index, *value) : Bind(index, nullptr);
  }

  /// True: a row is there. False: the statement is done. A failed Bind shows up here.
  Result<bool> Step();
  /// Steps to the end, discarding rows.
  Status Run();
  /// Lets go of rows not yet read, and with them of the read transaction; what is bound stays.
  void Reset();

  int columns() const;
  std::string ColumnName(int column) const;
  bool IsNull(int column) const;
  int64_t Int(int column) const;
  double Real(int column) const;       // NaN if NULL
  std::string Text(int column) const;  // empty if NULL
  /// SQLite's storage class: SQLITE_INTEGER, _FLOAT, _TEXT, _BLOB, _NULL (1..5).
  int Type(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
  bool stepped_ = false;
  int bind_error_ = 0;
};

class Database {
 public:
  /// Creates the file where there is none; WAL, synchronous=FULL, foreign keys on, a busy timeout
  /// of 5 s.
  static Result<Database> OpenForWriting(const std::filesystem::path& path);
  /// Creates the file where there is none, and has no log beside it: for a copy on its way.
  static Result<Database> OpenForCopy(const std::filesystem::path& path);
  /// NOT_FOUND where there is none. Never writes, also beside a running writer.
  static Result<Database> OpenReadOnly(const std::filesystem::path& path);

  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  Result<Statement> Prepare(std::string_view sql) const;
  /// One or more statements without parameters.
  Status Execute(const std::string& sql) const;
  /// Reads all of it (some 100 MB a second and more). DATA_LOSS: what is wrong with it.
  Status QuickCheck() const;
  int64_t LastInsertId() const;
  int Changes() const;
  sqlite3* handle() const { return db_; }

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  sqlite3* db_ = nullptr;
};

}  // namespace gyre
