#pragma once

// One read-only SQL statement against the results, for people and scripts that may not be trusted
// with more: the connection cannot write, an authorizer refuses everything but reading (no ATTACH,
// no changing PRAGMA, no extensions), and rows, bytes, memory and time are limited.

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace gyre {

/// NULL, INTEGER, REAL, TEXT. A BLOB is shown as text X'0a1b'.
using QueryValue = std::variant<std::monostate, int64_t, double, std::string>;

struct QueryTable {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryValue>> rows;
};

inline constexpr int64_t kDefaultQueryRows = 100000;

/// `max_rows` 0 = kDefaultQueryRows. INVALID_ARGUMENT: SQLite's message, more than one statement,
/// or one that does more than read. RESOURCE_EXHAUSTED: more than `max_rows` rows, more than 32
/// MiB, more than 512 MiB of memory on the way, or longer than `time_limit`. NOT_FOUND: no such
/// database.
Result<QueryTable> RunQuery(const std::filesystem::path& db, const std::string& sql,
                            int64_t max_rows, Millis time_limit = Millis(10000));

/// {"columns": [..], "rows": [[..], ..]}. Infinities become null, text that is no UTF-8 is
/// repaired.
std::string QueryTableToJson(const QueryTable& table);
/// INVALID_ARGUMENT if the text is not what QueryTableToJson writes.
Result<QueryTable> QueryTableFromJson(const std::string& text);

}  // namespace gyre
