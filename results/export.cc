#include "results/export.h"

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <variant>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

// Rows of an answer: below what a coordinator gives, also in bytes.
constexpr int kPageRows = 20000;
constexpr int kPageJobs = 50;  // their rotations may be long

struct Table {
  const char* name;  // of the file
  const char* view;
  const char* order;
  bool by_variant;  // too large to be asked for as one, and cheap by variant
};
constexpr std::array<Table, 8> kTables = {{
    {"curves", "curves", "seed, metric, step", true},
    {"final", "final", "variant, seed, metric", false},
    {"comparison", "comparison", "variant, metric", false},
    {"frequencies", "frequencies", "seed, step, layer, tensor, head, pair", true},
    {"contributions", "contributions", "seed, step, layer, head, pair", true},
    {"head_scores", "head_census", "seed, step, layer, head", true},
    {"documents", "documents", "seed, validation_set, step, document", true},
    {"failures", "failures", "variant, seed, attempt", false},
}};

constexpr char kJobs[] =
    "SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, j.id AS job_id, j.state AS state, "
    "v.position_type AS position_type, v.theta AS theta, v.p AS p, v.keep AS keep, "
    "v.spacing AS spacing, j.parameters AS parameters, j.tokens_budget AS tokens_budget, "
    "j.tokens_done AS tokens_done, j.diverged_at_step AS diverged_at_step, "
    "j.reused_from AS reused_from, j.attempt AS attempts, j.failures AS failures, "
    "j.queued_at AS queued_at, j.ended_at AS ended_at, j.error AS error, a.device AS device, "
    "a.tokens_per_second AS tokens_per_second, a.peak_memory_bytes AS peak_memory_bytes, "
    "a.fingerprint AS fingerprint, v.train_dataset AS train_dataset, "
    "v.validation_datasets AS validation_datasets, j.key AS key, v.config AS config, "
    "j.rotation AS rotation "
    "FROM jobs j JOIN sweeps s ON s.id = j.sweep_id "
    "JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id LEFT JOIN attempts a ON a.job_id "
    "= coalesce(j.reused_from, j.id) AND a.number = "
    "(SELECT max(number) FROM attempts WHERE job_id = coalesce(j.reused_from, j.id)) ";
// Those of its columns that are JSON.
const std::set<std::string>& JsonColumns() {
  static const auto* const columns =
      new std::set<std::string>{"fingerprint", "validation_datasets", "config", "rotation"};
  return *columns;
}

std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

std::string Text(const QueryValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}
int64_t Whole(const QueryValue& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number == nullptr ? 0 : *number;
}
double Real(const QueryValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(&value);
  return real == nullptr ? std::numeric_limits<double>::quiet_NaN() : *real;
}

// All digits and no more, "1.0" for one.
std::string Number(double value) { return Json(value).dump(); }

std::string CsvCell(const QueryValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value)) return Number(*real);
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return "";
  if (!text->empty() && text->find_first_of(",\"\r\n") == std::string::npos) return *text;
  std::string quoted = "\"";
  for (const char c : *text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string CsvLine(const std::vector<QueryValue>& values) {
  std::string line;
  for (size_t i = 0; i < values.size(); ++i) line += (i == 0 ? "" : ",") + CsvCell(values[i]);
  return line + "\r\n";
}

Json JsonValue(const std::string& column, const QueryValue& value) {
  if (const auto* whole = std::get_if<int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return nullptr;
  if (JsonColumns().contains(column)) {
    Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_discarded()) return json;
  }
  return *text;
}

std::string JsonLine(const std::vector<std::string>& columns,
                     const std::vector<QueryValue>& values) {
  Json line = Json::object();
  for (size_t i = 0; i < values.size(); ++i) line[columns[i]] = JsonValue(columns[i], values[i]);
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Every row of a SELECT, page by page; the first may be without rows.
Status EachPage(const std::string& select, int page_rows, const AskSql& ask,
                const std::function<Status(const QueryTable&)>& take) {
  const std::string limit = " LIMIT " + std::to_string(page_rows) + " OFFSET ";
  for (int64_t offset = 0;; offset += page_rows) {
    GYRE_ASSIGN_OR_RETURN(const QueryTable page, ask(select + limit + std::to_string(offset)));
    GYRE_RETURN_IF_ERROR(take(page));
    if (page.rows.size() < static_cast<size_t>(page_rows)) return OkStatus();
  }
}

struct SweepJob {
  ExportedJob job;
  int64_t with_points = 0;  // the job whose points and statistics are this one's too
};

Result<std::vector<SweepJob>> JobsOf(const std::string& sweep, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const QueryTable found,
                        ask("SELECT id FROM sweeps WHERE name = " + Quote(sweep)));
  if (found.rows.empty()) {
    GYRE_ASSIGN_OR_RETURN(const QueryTable names,
                          ask("SELECT name FROM sweeps ORDER BY id DESC LIMIT 20"));
    std::string list;
    for (const auto& row : names.rows) list += (list.empty() ? "" : ", ") + Text(row[0]);
    return NotFound("no sweep is called '" + sweep + "'; there are" +
                    (list.empty() ? " no sweeps" : ": " + list));
  }
  std::vector<SweepJob> jobs;
  GYRE_RETURN_IF_ERROR(EachPage(
      "SELECT v.name, j.seed, j.state, coalesce(j.reused_from, j.id) FROM jobs j JOIN variants v "
      "ON v.id = j.variant_id WHERE j.sweep_id = " +
          std::to_string(Whole(found.rows[0][0])) + " ORDER BY v.id, j.seed",
      kPageRows, ask, [&](const QueryTable& page) {
        for (const auto& row : page.rows) {
          jobs.push_back(
              {{Text(row[0]), static_cast<uint64_t>(Whole(row[1])), Text(row[2])}, Whole(row[3])});
        }
        return OkStatus();
      }));
  return jobs;
}

class TableWriter {
 public:
  TableWriter(std::string name, ExportFormat format, const WriteText& write)
      : csv_(format == ExportFormat::kCsv),
        file_(std::move(name) + (csv_ ? ".csv" : ".jsonl")),
        write_(write) {}

  ExportedFile done() const { return {file_, rows_}; }

  Status Add(const QueryTable& page) {
    std::string text;
    if (!std::exchange(begun_, true) && csv_) {
      text = CsvLine({page.columns.begin(), page.columns.end()});
    }
    rows_ += static_cast<int64_t>(page.rows.size());
    for (const auto& row : page.rows) text += csv_ ? CsvLine(row) : JsonLine(page.columns, row);
    return write_(file_, text);
  }

 private:
  const bool csv_;
  const std::string file_;
  const WriteText& write_;
  bool begun_ = false;
  int64_t rows_ = 0;
};

}  // namespace

Result<ExportedTables> ExportTables(const std::string& sweep, ExportFormat format,
                                    const AskSql& ask, const WriteText& write) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<SweepJob> jobs, JobsOf(sweep, ask));
  std::vector<std::string> variants;
  for (const SweepJob& job : jobs) {
    if (variants.empty() || variants.back() != job.job.variant) variants.push_back(job.job.variant);
  }
  GYRE_ASSIGN_OR_RETURN(const QueryTable views,
                        ask("SELECT name FROM sqlite_schema WHERE type = 'view'"));
  std::set<std::string> known;
  for (const auto& row : views.rows) known.insert(Text(row[0]));

  ExportedTables done;
  const auto to = [](TableWriter& writer) {
    return [&writer](const QueryTable& page) { return writer.Add(page); };
  };
  for (const Table& table : kTables) {
    if (!known.contains(table.view)) {
      done.missing.emplace_back(table.name);
      continue;
    }
    TableWriter writer(table.name, format, write);
    const std::string select =
        std::string("SELECT * FROM ") + table.view + " WHERE sweep = " + Quote(sweep);
    const std::string order = std::string(" ORDER BY ") + table.order;
    if (!table.by_variant) {
      GYRE_RETURN_IF_ERROR(EachPage(select + order, kPageRows, ask, to(writer)));
    } else {
      GYRE_ASSIGN_OR_RETURN(QueryTable first, ask(select + " LIMIT 1"));
      const bool any = !std::exchange(first.rows, {}).empty();
      GYRE_RETURN_IF_ERROR(writer.Add(first));  // the columns
      for (size_t v = 0; any && v < variants.size(); ++v) {
        GYRE_RETURN_IF_ERROR(EachPage(select + " AND variant = " + Quote(variants[v]) + order,
                                      kPageRows, ask, to(writer)));
      }
    }
    done.files.push_back(writer.done());
  }
  TableWriter writer("jobs", format, write);
  const std::string select = kJobs + ("WHERE s.name = " + Quote(sweep));
  GYRE_ASSIGN_OR_RETURN(const QueryTable columns, ask(select + " AND 0"));
  GYRE_RETURN_IF_ERROR(writer.Add(columns));
  for (const std::string& variant : variants) {
    GYRE_RETURN_IF_ERROR(EachPage(select + " AND v.name = " + Quote(variant) + " ORDER BY j.seed",
                                  kPageJobs, ask, to(writer)));
  }
  done.files.push_back(writer.done());
  return done;
}

Status ExportCurves(const std::string& sweep, const AskSql& ask,
                    const std::function<Status(const ExportedJob&)>& begin,
                    const std::function<Status(const ExportedPoint&)>& point) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<SweepJob> jobs, JobsOf(sweep, ask));
  for (const SweepJob& job : jobs) {
    GYRE_RETURN_IF_ERROR(begin(job.job));
    GYRE_RETURN_IF_ERROR(EachPage(
        "SELECT p.metric, p.step, p.value, "
        "coalesce(round((julianday(a.started_at) - 2440587.5) * 86400000.0) / 1000.0, 0) "
        "FROM points p LEFT JOIN attempts a ON a.job_id = p.job_id AND a.number = p.attempt "
        "WHERE p.job_id = " +
            std::to_string(job.with_points) + " ORDER BY p.metric, p.step",
        kPageRows, ask, [&](const QueryTable& page) -> Status {
          for (const auto& row : page.rows) {
            GYRE_RETURN_IF_ERROR(point({Text(row[0]), Whole(row[1]), Real(row[2]), Real(row[3])}));
          }
          return OkStatus();
        }));
  }
  return OkStatus();
}

}  // namespace gyre
