#include "results/seed_reader.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace gyre {
namespace {

/// The numbers of a JSON array; empty if it is none, or has anything else. Comparisons read
/// millions of them.
std::vector<double> Numbers(std::string_view json) {
  std::vector<double> numbers;
  const char* at = json.data();
  const char* const end = at + json.size();
  const auto skip = [&] {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')) ++at;
  };
  char expected = '[';
  for (skip(); at != end && *at == expected; skip()) {
    ++at;
    skip();
    double value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    if (error != std::errc() || !std::isfinite(value)) return {};
    numbers.push_back(value);
    at = rest;
    expected = ',';
  }
  const bool closed = at != end && *at == ']' && at + 1 == end;
  return closed ? numbers : std::vector<double>();
}

/// Files of older versions have no losses of documents.
Result<bool> HasTable(const Database& database, const char* name) {
  GYRE_ASSIGN_OR_RETURN(
      Statement statement,
      database.Prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"));
  statement.Bind(1, name);
  return statement.Step();
}

}  // namespace

std::string DocumentSet(const std::string& metric, int64_t at_tokens) {
  const size_t slash = metric.find('/');
  if (at_tokens > 0 || slash == std::string::npos) return "";
  const std::string quantity = metric.substr(slash + 1);
  return quantity == "perplexity" || quantity == "loss" ? metric.substr(0, slash) : "";
}

Result<SeedReader> SeedReader::Create(const Database& database, const SeedReaderOptions& options) {
  SeedReader reader(&database, options);
  GYRE_RETURN_IF_ERROR(reader.Prepare());
  return reader;
}

Status SeedReader::Prepare() {
  const auto prepare = [&](const std::string& sql, std::optional<Statement>* statement) -> Status {
    GYRE_ASSIGN_OR_RETURN(*statement, database_->Prepare(sql));
    return OkStatus();
  };
  const std::string point = "SELECT tokens, value FROM points WHERE job_id = ? AND metric = ?";
  GYRE_RETURN_IF_ERROR(prepare(
      point + (options_.at_tokens > 0 ? " AND tokens <= ?" : "") + " ORDER BY step DESC LIMIT 1",
      &point_));
  GYRE_RETURN_IF_ERROR(
      prepare("SELECT tokens_per_second FROM attempts WHERE job_id = ?"
              " AND tokens_per_second > 0 ORDER BY number DESC LIMIT 1",
              &speed_));
  // Of the attempts that left something behind.
  GYRE_RETURN_IF_ERROR(
      prepare("SELECT 1 FROM attempts a WHERE a.job_id = ?1"
              " AND iif(json_valid(a.fingerprint),"
              "  coalesce(a.fingerprint ->> '$.precision', 'float32'), ?2) <> ?2"
              " AND EXISTS (SELECT 1 FROM points p"
              "  WHERE p.job_id = a.job_id AND p.attempt = a.number) LIMIT 1",
              &missing_));
  if (options_.curves) GYRE_RETURN_IF_ERROR(prepare(point + " ORDER BY step", &curve_));
  if (!options_.documents || set_.empty()) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(const bool has_documents, HasTable(*database_, "document_losses"));
  if (!has_documents) return OkStatus();
  return prepare(
      "SELECT targets, nats FROM document_losses WHERE job_id = ?"
      " AND validation_set = ? ORDER BY step DESC LIMIT 1",
      &documents_);
}

Result<std::vector<VariantResults>> SeedReader::Read(int64_t sweep_id) {
  std::vector<int64_t> ids;
  std::vector<std::string> precisions;
  GYRE_ASSIGN_OR_RETURN(std::vector<VariantResults> variants,
                        ReadVariants(sweep_id, &ids, &precisions));
  // A twin or a reused job follows its source and has no points of its own.
  GYRE_ASSIGN_OR_RETURN(
      Statement jobs,
      database_->Prepare("SELECT j.variant_id, j.seed, j.state, j.tokens_budget, s.id,"
                         " s.tokens_done, s.diverged_at_step FROM jobs j"
                         " JOIN jobs s ON s.id = coalesce(j.reused_from, j.id)"
                         " WHERE j.sweep_id = ? ORDER BY j.variant_id, j.seed"));
  jobs.Bind(1, sweep_id);
  size_t at = 0;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, jobs.Step());
    if (!row) return variants;
    while (at < ids.size() && ids[at] != jobs.Int(0)) ++at;
    if (at == ids.size()) return Internal("a job of no variant of its sweep");
    SeedResult& seed = variants[at].seeds.emplace_back();
    seed.seed = static_cast<uint64_t>(jobs.Int(1));
    seed.state = jobs.Text(2);
    seed.tokens_budget = jobs.Int(3);
    seed.diverged = !jobs.IsNull(6);
    GYRE_RETURN_IF_ERROR(ReadSeed({jobs.Int(4), jobs.Int(5), precisions[at]}, &seed));
  }
}

Result<std::vector<VariantResults>> SeedReader::ReadVariants(int64_t sweep_id,
                                                             std::vector<int64_t>* ids,
                                                             std::vector<std::string>* precisions) {
  GYRE_ASSIGN_OR_RETURN(
      Statement statement,
      database_->Prepare(
          "SELECT v.id, v.name, b.name, v.train_dataset, v.config ->> '$.data.context',"
          " v.config ->> '$.data.packing', v.config ->> '$.train.batch_tokens',"
          " v.config ->> '$.train.precision' FROM variants v"
          " LEFT JOIN variants b ON b.id = v.baseline_id WHERE v.sweep_id = ? ORDER BY v.id"));
  statement.Bind(1, sweep_id);
  std::vector<VariantResults> variants;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return variants;
    ids->push_back(statement.Int(0));
    precisions->push_back(statement.Text(7));
    variants.push_back(
        {.name = statement.Text(1),
         .baseline = statement.Text(2),
         .seeds = {},
         .batches = {statement.Text(3), statement.Text(4), statement.Text(5), statement.Text(6)}});
  }
}

Status SeedReader::ReadSeed(const Job& job, SeedResult* seed) {
  speed_->Bind(1, job.source);
  GYRE_ASSIGN_OR_RETURN(const bool has_speed, speed_->Step());
  if (has_speed) seed->tokens_per_second = speed_->Real(0);
  // float32 is what every machine has.
  if (!job.precision.empty() && job.precision != "float32") {
    missing_->Bind(1, job.source).Bind(2, job.precision);
    GYRE_ASSIGN_OR_RETURN(const bool is_missing, missing_->Step());
    if (is_missing) seed->missing_precision = job.precision;
  }
  if (seed->diverged) return OkStatus();
  GYRE_RETURN_IF_ERROR(ReadValue(job, seed));
  if (seed->diverged) return OkStatus();
  if (curve_) GYRE_RETURN_IF_ERROR(ReadCurve(job, seed));
  return documents_ && seed->value ? ReadDocuments(job, seed) : OkStatus();
}

Status SeedReader::ReadValue(const Job& job, SeedResult* seed) {
  const int64_t at = options_.at_tokens;
  if (seed->state != "SUCCEEDED" && !(at > 0 && job.tokens_done >= at)) return OkStatus();
  point_->Bind(1, job.source).Bind(2, options_.metric);
  if (at > 0) point_->Bind(3, at);
  GYRE_ASSIGN_OR_RETURN(const bool has_point, point_->Step());
  if (!has_point) return OkStatus();
  seed->tokens = point_->Int(0);
  if (std::isfinite(point_->Real(1))) {
    seed->value = point_->Real(1);
  } else {
    seed->diverged = true;
  }
  return OkStatus();
}

Status SeedReader::ReadCurve(const Job& job, SeedResult* seed) {
  curve_->Bind(1, job.source).Bind(2, options_.metric);
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, curve_->Step());
    if (!row) return OkStatus();
    const double value = curve_->Real(1);
    if (std::isfinite(value)) {
      seed->curve.push_back({curve_->Int(0), value});
    } else {
      ++seed->not_finite;
    }
  }
}

Status SeedReader::ReadDocuments(const Job& job, SeedResult* seed) {
  documents_->Bind(1, job.source).Bind(2, set_);
  GYRE_ASSIGN_OR_RETURN(const bool row, documents_->Step());
  if (!row) return OkStatus();
  DocumentSums sums{Numbers(documents_->Text(0)), Numbers(documents_->Text(1))};
  if (sums.targets.size() != sums.nats.size()) return OkStatus();
  for (size_t i = 0; i < sums.targets.size(); ++i) {
    if (sums.targets[i] <= 0) continue;  // nothing was predicted there
    seed->documents.targets.push_back(sums.targets[i]);
    seed->documents.nats.push_back(sums.nats[i]);
  }
  return OkStatus();
}

}  // namespace gyre
