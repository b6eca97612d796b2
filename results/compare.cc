// The half of the comparison that reads the database. Tables and columns: docs of the database's
// schema.

#include "results/compare.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

namespace gyre {
namespace {

struct SweepRow {
  int64_t id = 0;
  std::string baseline;
};

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : ", ") + word;
  return joined;
}

Result<std::vector<std::string>> TextColumn(Statement statement) {
  std::vector<std::string> values;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return values;
    values.push_back(statement.Text(0));
  }
}

Result<SweepRow> FindSweep(const Database& database, const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(Statement statement,
                        database.Prepare("SELECT id, baseline FROM sweeps WHERE name = ?"));
  statement.Bind(1, name);
  GYRE_ASSIGN_OR_RETURN(const bool found, statement.Step());
  if (found) return SweepRow{statement.Int(0), statement.Text(1)};
  GYRE_ASSIGN_OR_RETURN(Statement all,
                        database.Prepare("SELECT name FROM sweeps ORDER BY id DESC LIMIT 20"));
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> names, TextColumn(std::move(all)));
  return NotFound("no sweep is called '" + name + "'" +
                  (names.empty() ? "; there are no sweeps" : "; there are: " + Join(names)));
}

/// Names of the validation sets, in the file's order, of the sweep's first variant.
Result<std::vector<std::string>> ValidationSets(const Database& database, int64_t sweep_id) {
  GYRE_ASSIGN_OR_RETURN(
      Statement statement,
      database.Prepare("SELECT config FROM variants WHERE sweep_id = ? ORDER BY id LIMIT 1"));
  statement.Bind(1, sweep_id);
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> configs, TextColumn(std::move(statement)));
  std::vector<std::string> names;
  if (configs.empty()) return names;
  const auto config =
      nlohmann::ordered_json::parse(configs.front(), nullptr, /*allow_exceptions=*/false);
  const nlohmann::ordered_json::json_pointer path("/data/validation");
  if (config.is_discarded() || !config.contains(path)) return names;
  for (const auto& [name, source] : config.at(path).items()) names.push_back(name);
  return names;
}

Result<std::vector<std::string>> ReportedMetrics(const Database& database, int64_t sweep_id) {
  GYRE_ASSIGN_OR_RETURN(Statement statement,
                        database.Prepare("SELECT DISTINCT p.metric FROM jobs j JOIN points p"
                                         " ON p.job_id = coalesce(j.reused_from, j.id)"
                                         " WHERE j.sweep_id = ? ORDER BY p.metric"));
  statement.Bind(1, sweep_id);
  return TextColumn(std::move(statement));
}

Result<bool> IsReported(const Database& database, int64_t sweep_id, const std::string& metric) {
  GYRE_ASSIGN_OR_RETURN(
      Statement statement,
      database.Prepare("SELECT 1 FROM jobs j JOIN points p"
                       " ON p.job_id = coalesce(j.reused_from, j.id) AND p.metric = ?"
                       " WHERE j.sweep_id = ? LIMIT 1"));
  statement.Bind(1, metric).Bind(2, sweep_id);
  return statement.Step();
}

/// The metric asked for, or the default. A metric that comes only at the end of a job is known
/// before any job ends.
Result<std::string> ResolveMetric(const Database& database, int64_t sweep_id,
                                  const std::string& asked) {
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> sets, ValidationSets(database, sweep_id));
  if (asked.empty()) {
    if (sets.empty()) return NotFound("the sweep has no validation set: name a metric");
    return sets.front() + "/perplexity";
  }
  std::set<std::string> known;
  for (const std::string& set : sets) {
    for (const char* quantity : {"/perplexity", "/loss", "/loss_sample", "/bits_per_byte"}) {
      known.insert(set + quantity);
    }
  }
  if (known.contains(asked)) return asked;
  GYRE_ASSIGN_OR_RETURN(const bool reported, IsReported(database, sweep_id, asked));
  if (reported) return asked;
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> others, ReportedMetrics(database, sweep_id));
  known.insert(others.begin(), others.end());
  return NotFound("no metric is called '" + asked +
                  "'; there are: " + Join({known.begin(), known.end()}));
}

/// The statements of one comparison, prepared once.
class SeedReader {
 public:
  static Result<SeedReader> Create(const Database& database, const CompareOptions& options) {
    const std::string value = "SELECT value, tokens FROM points WHERE job_id = ? AND metric = ?";
    GYRE_ASSIGN_OR_RETURN(
        Statement point,
        database.Prepare(value + (options.at_tokens > 0 ? " AND tokens <= ?" : "") +
                         " ORDER BY step DESC LIMIT 1"));
    GYRE_ASSIGN_OR_RETURN(
        Statement speed,
        database.Prepare("SELECT tokens_per_second FROM attempts WHERE job_id = ?"
                         " AND tokens_per_second > 0 ORDER BY number DESC LIMIT 1"));
    // Of the attempts that left something behind. float32 is what every machine has.
    GYRE_ASSIGN_OR_RETURN(
        Statement missing,
        database.Prepare(
            "SELECT v.config ->> '$.train.precision' AS wanted FROM jobs j"
            " JOIN variants v ON v.id = j.variant_id JOIN attempts a ON a.job_id = j.id"
            " WHERE j.id = ? AND wanted <> 'float32'"
            " AND iif(json_valid(a.fingerprint), coalesce("
            "  a.fingerprint ->> '$.precision', 'float32'), wanted) <> wanted"
            " AND EXISTS (SELECT 1 FROM points p"
            "  WHERE p.job_id = a.job_id AND p.attempt = a.number) LIMIT 1"));
    return SeedReader(std::move(point), std::move(speed), std::move(missing), options);
  }

  /// Fills in the value, unless the job does not count: it diverged, or has not come far enough.
  Status Read(int64_t job_id, int64_t tokens_done, SeedResult* seed) {
    speed_.Bind(1, job_id);
    GYRE_ASSIGN_OR_RETURN(const bool has_speed, speed_.Step());
    if (has_speed) seed->tokens_per_second = speed_.Real(0);
    missing_.Bind(1, job_id);
    GYRE_ASSIGN_OR_RETURN(const bool is_missing, missing_.Step());
    if (is_missing) seed->missing_precision = missing_.Text(0);

    const bool far_enough =
        seed->state == "SUCCEEDED" || (at_tokens_ > 0 && tokens_done >= at_tokens_);
    if (!far_enough || seed->diverged) return OkStatus();
    point_.Bind(1, job_id).Bind(2, metric_);
    if (at_tokens_ > 0) point_.Bind(3, at_tokens_);
    GYRE_ASSIGN_OR_RETURN(const bool has_point, point_.Step());
    if (!has_point) return OkStatus();
    seed->tokens = point_.Int(1);
    if (std::isfinite(point_.Real(0))) {
      seed->value = point_.Real(0);
    } else {
      seed->diverged = true;
    }
    return OkStatus();
  }

 private:
  SeedReader(Statement point, Statement speed, Statement missing, const CompareOptions& options)
      : point_(std::move(point)),
        speed_(std::move(speed)),
        missing_(std::move(missing)),
        metric_(options.metric),
        at_tokens_(options.at_tokens) {}

  Statement point_, speed_, missing_;
  std::string metric_;
  int64_t at_tokens_;
};

Result<std::vector<VariantResults>> ReadVariants(const Database& database, int64_t sweep_id,
                                                 const CompareOptions& options) {
  GYRE_ASSIGN_OR_RETURN(SeedReader reader, SeedReader::Create(database, options));
  // A twin or a reused job follows its source and has no points of its own.
  GYRE_ASSIGN_OR_RETURN(
      Statement jobs,
      database.Prepare("SELECT v.name, j.seed, j.state, j.tokens_budget, s.id, s.tokens_done,"
                       " s.diverged_at_step, b.name FROM jobs j"
                       " JOIN variants v ON v.id = j.variant_id"
                       " LEFT JOIN variants b ON b.id = v.baseline_id"
                       " JOIN jobs s ON s.id = coalesce(j.reused_from, j.id)"
                       " WHERE j.sweep_id = ? ORDER BY v.id, j.seed"));
  jobs.Bind(1, sweep_id);
  std::vector<VariantResults> variants;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, jobs.Step());
    if (!row) return variants;
    const std::string name = jobs.Text(0);
    if (variants.empty() || variants.back().name != name)
      variants.push_back({name, jobs.Text(7), {}});
    SeedResult& seed = variants.back().seeds.emplace_back();
    seed.seed = static_cast<uint64_t>(jobs.Int(1));
    seed.state = jobs.Text(2);
    seed.tokens_budget = jobs.Int(3);
    seed.diverged = !jobs.IsNull(6);
    GYRE_RETURN_IF_ERROR(reader.Read(jobs.Int(4), jobs.Int(5), &seed));
  }
}

Result<Comparison> CompareInSnapshot(const Database& database,
                                     const std::vector<std::string>& sweeps,
                                     const CompareOptions& options) {
  CompareOptions resolved = options;
  std::vector<SweepResults> results;
  for (const std::string& name : sweeps) {
    GYRE_ASSIGN_OR_RETURN(const SweepRow sweep, FindSweep(database, name));
    // The first sweep's validation set names the metric of them all.
    if (results.empty()) {
      GYRE_ASSIGN_OR_RETURN(resolved.metric, ResolveMetric(database, sweep.id, options.metric));
    }
    GYRE_ASSIGN_OR_RETURN(std::vector<VariantResults> variants,
                          ReadVariants(database, sweep.id, resolved));
    results.push_back({name, sweep.baseline, std::move(variants)});
  }
  return CompareResults(results, resolved);
}

}  // namespace

Result<Comparison> Compare(const Database& database, const std::vector<std::string>& sweeps,
                           const CompareOptions& options) {
  if (sweeps.empty()) return InvalidArgument("no sweep is named");
  // One snapshot for all statements, beside a running writer. A savepoint, so that the caller may
  // have a transaction.
  GYRE_RETURN_IF_ERROR(database.Execute("SAVEPOINT compare"));
  Result<Comparison> comparison = CompareInSnapshot(database, sweeps, options);
  GYRE_RETURN_IF_ERROR(database.Execute("RELEASE compare"));
  return comparison;
}

}  // namespace gyre
