// The half of the comparison that reads the database. Tables and columns: docs of the database's
// schema.

#include "results/compare.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "results/seed_reader.h"

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
                                  const CompareOptions& options) {
  const std::string& asked = options.metric;
  GYRE_ASSIGN_OR_RETURN(const std::vector<std::string> sets, ValidationSets(database, sweep_id));
  if (asked.empty()) {
    if (sets.empty()) return NotFound("the sweep has no validation set: name a metric");
    return sets.front() + (options.by_step || options.reach ? "/loss_sample" : "/perplexity");
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

Result<int64_t> CountVariants(const Database& database, int64_t sweep_id) {
  GYRE_ASSIGN_OR_RETURN(Statement statement,
                        database.Prepare("SELECT count(*) FROM variants WHERE sweep_id = ?"));
  statement.Bind(1, sweep_id);
  GYRE_RETURN_IF_ERROR(statement.Step().status());
  return statement.Int(0);
}

Result<Comparison> CompareInSnapshot(const Database& database,
                                     const std::vector<std::string>& names,
                                     const CompareOptions& options) {
  std::vector<SweepRow> sweeps;
  int64_t variants = 0;
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(sweeps.emplace_back(), FindSweep(database, name));
    GYRE_ASSIGN_OR_RETURN(const int64_t count, CountVariants(database, sweeps.back().id));
    variants += count;
  }
  CompareOptions resolved = options;
  // The first sweep's validation set names the metric of them all.
  GYRE_ASSIGN_OR_RETURN(resolved.metric, ResolveMetric(database, sweeps.front().id, options));
  if (options.reach && !LowerIsBetter(resolved.metric)) {
    return InvalidArgument("curves come down to a loss, and " + resolved.metric +
                           " is none: name one with --metric, like SET/loss_sample");
  }
  const bool documents = options.documents.value_or(variants <= kMostVariantsWithDocuments);
  GYRE_ASSIGN_OR_RETURN(SeedReader reader,
                        SeedReader::Create(database, {.metric = resolved.metric,
                                                      .at_tokens = resolved.at_tokens,
                                                      .curves = options.by_step || options.reach,
                                                      .documents = documents}));
  std::vector<SweepResults> results;
  for (size_t i = 0; i < names.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(std::vector<VariantResults> read, reader.Read(sweeps[i].id));
    results.push_back({names[i], sweeps[i].baseline, std::move(read)});
  }
  GYRE_ASSIGN_OR_RETURN(Comparison comparison, CompareResults(results, resolved));
  if (!documents && !options.documents &&
      !DocumentSet(resolved.metric, resolved.at_tokens).empty()) {
    comparison.notes.push_back("with more than " + std::to_string(kMostVariantsWithDocuments) +
                               " variants the intervals over documents are left out; --documents "
                               "computes them");
  }
  return comparison;
}

}  // namespace

Result<Comparison> Compare(const Database& database, const std::vector<std::string>& sweeps,
                           const CompareOptions& options) {
  if (sweeps.empty()) return InvalidArgument("no sweep is named");
  for (size_t i = 1; i < sweeps.size(); ++i) {
    if (std::find(sweeps.begin(), sweeps.begin() + static_cast<ptrdiff_t>(i), sweeps[i]) !=
        sweeps.begin() + static_cast<ptrdiff_t>(i)) {
      return InvalidArgument("the sweep '" + sweeps[i] + "' is named twice");
    }
  }
  // One snapshot for all statements, beside a running writer. A savepoint, so that the caller may
  // have a transaction.
  GYRE_RETURN_IF_ERROR(database.Execute("SAVEPOINT compare"));
  Result<Comparison> comparison = CompareInSnapshot(database, sweeps, options);
  GYRE_RETURN_IF_ERROR(database.Execute("RELEASE compare"));
  return comparison;
}

}  // namespace gyre
