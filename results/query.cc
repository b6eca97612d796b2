#include "results/query.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "results/database.h"

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxBytes = size_t{32} << 20;
constexpr int kMaxSqlBytes = 1 << 20;
constexpr int kStepsBetweenClockReads =
    10000;  // of SQLite's virtual machine: well under a millisecond
constexpr int64_t kMaxMemory = int64_t{512} << 20;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using OwnedStatement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

bool IsReadingPragma(std::string_view name, const char* argument) {
  constexpr std::array<std::string_view, 6> kTakeATable = {
      "table_info", "table_xinfo", "index_list", "index_info", "foreign_key_list", "table_list"};
  if (std::find(kTakeATable.begin(), kTakeATable.end(), name) != kTakeATable.end()) return true;
  return argument == nullptr && (name == "user_version" || name == "database_list");
}

/// sqlite3_set_authorizer's callback: reading, and nothing else.
int Authorize(void*, int action, const char* first, const char* second, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION: {
      const std::string_view function = second == nullptr ? "" : second;
      return function == "load_extension" || function == "fts3_tokenizer" ? SQLITE_DENY : SQLITE_OK;
    }
    case SQLITE_PRAGMA:
      return IsReadingPragma(first == nullptr ? "" : first, second) ? SQLITE_OK : SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

/// sqlite3_progress_handler's callback: a true answer interrupts the statement.
int IsTooLate(void* deadline) {
  return Clock::Real().Now() > *static_cast<const Millis*>(deadline) ? 1 : 0;
}

/// One row may make thousands of values of kMaxBytes before anybody is asked, so the limit is of
/// SQLite's own: of this whole process, whose other users need a hundredth of it. Who meets it
/// beside such a query gets RESOURCE_EXHAUSTED, too, and tries again.
void LimitMemory() {
  static const int64_t limited = sqlite3_hard_heap_limit64(kMaxMemory);
  (void)limited;
}

Status QueryError(sqlite3* db, int code) {
  const std::string message = sqlite3_errmsg(db);
  switch (code & 0xff) {
    case SQLITE_AUTH:
      return InvalidArgument(message +
                             ": a query only reads (SELECT, WITH, EXPLAIN, PRAGMA table_info)");
    case SQLITE_READONLY:
      return InvalidArgument(message + ": a query only reads");
    case SQLITE_INTERRUPT:
      return ResourceExhausted(
          "the query took too long and was stopped; narrow it, or open the "
          "database with sqlite3");
    case SQLITE_NOMEM:
      return ResourceExhausted("the query takes more than 512 MiB of memory; narrow it");
    case SQLITE_TOOBIG:
      return ResourceExhausted(message);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable(message);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return DataLoss(message);
    case SQLITE_IOERR:
      return Internal(message);
    default:
      return InvalidArgument(message);
  }
}

Result<OwnedStatement> PrepareOne(sqlite3* db, const std::string& sql) {
  if (sql.size() > kMaxSqlBytes) return InvalidArgument("the query is longer than 1 MiB");
  if (sql.find('\0') != std::string::npos) return InvalidArgument("the query contains a NUL byte");
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &raw, &rest);
  OwnedStatement statement(raw);
  if (code != SQLITE_OK) return QueryError(db, code);
  if (statement == nullptr) return InvalidArgument("the query is empty");
  // Comments and blanks may follow; they prepare to nothing.
  sqlite3_stmt* more = nullptr;
  code = sqlite3_prepare_v2(db, rest, -1, &more, nullptr);
  const OwnedStatement second(more);
  if (code != SQLITE_OK || second != nullptr) {
    return InvalidArgument("one statement at a time: text follows the first ';'");
  }
  if (sqlite3_stmt_readonly(statement.get()) == 0) {
    return InvalidArgument("a query only reads: it cannot change the database");
  }
  return statement;
}

std::string HexLiteral(const void* blob, int bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "X'";
  for (int i = 0; i < bytes; ++i) {
    const auto byte = static_cast<const unsigned char*>(blob)[i];
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text + "'";
}

QueryValue ColumnValue(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const unsigned char* text = sqlite3_column_text(statement, column);
      if (text == nullptr) return std::string();  // out of memory; the next step says so
      return std::string(reinterpret_cast<const char*>(text),
                         static_cast<size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const void* blob = sqlite3_column_blob(statement, column);
      // Null where memory has run out; the next step says so.
      return HexLiteral(blob, blob == nullptr ? 0 : sqlite3_column_bytes(statement, column));
    }
    default:
      return std::monostate();
  }
}

size_t BytesOf(const QueryValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return sizeof(QueryValue) + (text == nullptr ? 0 : text->size());
}

Result<QueryTable> ReadRows(sqlite3* db, sqlite3_stmt* statement, int64_t max_rows) {
  QueryTable table;
  const int columns = sqlite3_column_count(statement);
  for (int i = 0; i < columns; ++i) table.columns.push_back(sqlite3_column_name(statement, i));
  size_t bytes = 0;
  while (true) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return table;
    if (code != SQLITE_ROW) return QueryError(db, code);
    if (static_cast<int64_t>(table.rows.size()) >= max_rows) {
      return ResourceExhausted("the query has more than " + std::to_string(max_rows) +
                               " rows; add a LIMIT, or open the database with sqlite3");
    }
    std::vector<QueryValue>& row = table.rows.emplace_back();
    // Value by value: one row may have thousands of the largest.
    for (int i = 0; i < columns; ++i) {
      bytes += BytesOf(row.emplace_back(ColumnValue(statement, i)));
      if (bytes > kMaxBytes) {
        return ResourceExhausted(
            "the query gives more than 32 MiB; add a LIMIT, or open the "
            "database with sqlite3");
      }
    }
  }
}

}  // namespace

Result<QueryTable> RunQuery(const std::filesystem::path& path, const std::string& sql,
                            int64_t max_rows, Millis time_limit) {
  GYRE_ASSIGN_OR_RETURN(const Database database, Database::OpenReadOnly(path));
  sqlite3* db = database.handle();
  LimitMemory();
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, static_cast<int>(kMaxBytes));
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(db, Authorize, nullptr);
  Millis deadline = Clock::Real().Now() + time_limit;
  sqlite3_progress_handler(db, kStepsBetweenClockReads, IsTooLate, &deadline);
  GYRE_ASSIGN_OR_RETURN(const OwnedStatement statement, PrepareOne(db, sql));
  return ReadRows(db, statement.get(), max_rows > 0 ? max_rows : kDefaultQueryRows);
}

std::string QueryTableToJson(const QueryTable& table) {
  Json rows = Json::array();
  for (const std::vector<QueryValue>& row : table.rows) {
    Json& values = rows.emplace_back(Json::array());
    for (const QueryValue& value : row) {
      std::visit(
          [&values](const auto& content) {
            if constexpr (std::is_same_v<std::decay_t<decltype(content)>, std::monostate>) {
              values.push_back(nullptr);
            } else {
              values.push_back(content);
            }
          },
          value);
    }
  }
  const Json json = {{"columns", table.columns}, {"rows", std::move(rows)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<QueryTable> QueryTableFromJson(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    QueryTable table;
    table.columns = json.at("columns").get<std::vector<std::string>>();
    for (const Json& values : json.at("rows")) {
      std::vector<QueryValue>& row = table.rows.emplace_back();
      for (const Json& value : values) {
        if (value.is_null()) {
          row.emplace_back();
        } else if (value.is_number_integer()) {
          row.emplace_back(value.get<int64_t>());
        } else if (value.is_number()) {
          row.emplace_back(value.get<double>());
        } else {
          row.emplace_back(value.get<std::string>());
        }
      }
    }
    return table;
  } catch (const Json::exception& error) {
    return InvalidArgument(std::string("not a table: ") + error.what());
  }
}

}  // namespace gyre
