// The SQL of `gyre query`: whatever it says, the database stays as it is, and the answer comes
// within its limits.

#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/files.h"
#include "coordinator/store/store.h"
#include "results/query.h"
#include "tests/fuzz/fuzz.h"

namespace gyre {
namespace {

constexpr int64_t kMaxRows = 1000;

/// A database with the schema and a few rows, gone with the process.
class Fixture {
 public:
  Fixture() {
    std::filesystem::create_directories(folder_);
    {
      auto store = Store::Open(path_);
      Require(store.ok(), "the database can be made");
      const Status filled = (*store)->database().Execute(
          "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "
          "INSERT INTO events (at, kind, details) SELECT 'now', 'k' || i, '{\"i\": 1}' FROM n");
      Require(filled.ok(), "the rows can be written");
    }
    before_ = Content();
  }
  ~Fixture() { std::filesystem::remove_all(folder_); }

  void Ask(const std::string& sql) {
    const auto table = RunQuery(path_, sql, kMaxRows, Millis(200));
    if (table.ok()) {
      Require(static_cast<int64_t>(table->rows.size()) <= kMaxRows, "no more rows than asked for");
      const auto again = QueryTableFromJson(QueryTableToJson(*table));
      Require(again.ok() && again->rows.size() == table->rows.size(), "the answer travels as JSON");
    }
    Require(Content() == before_, "the database is as it was");
  }

 private:
  std::string Content() const {
    const auto content = ReadFile(path_);
    Require(content.ok(), "the database can be read");
    return *content;
  }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("gyre-query-fuzz-" + std::to_string(getpid()));
  const std::filesystem::path path_ = folder_ / "results.db";
  std::string before_;
};

}  // namespace
}  // namespace gyre

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static gyre::Fixture fixture;
  fixture.Ask(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
