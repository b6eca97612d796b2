#include "cli/results_source.h"

#include "results/query.h"

namespace gyre {

Result<ResultsSource> ResultsSource::Open(const std::string& coordinator,
                                          const std::string& database) {
  ResultsSource source;
  source.database_ = database;
  if (database.empty()) {
    GYRE_ASSIGN_OR_RETURN(source.client_, SweepClient::Connect(coordinator));
  }
  return source;
}

Result<QueryTable> ResultsSource::Query(const std::string& sql) const {
  if (client_ == nullptr) return RunQuery(database_, sql, /*max_rows=*/0);
  GYRE_ASSIGN_OR_RETURN(const std::string json, client_->Query(sql, kDefaultQueryRows));
  return QueryTableFromJson(json);
}

Result<Comparison> ResultsSource::Compare(const std::vector<std::string>& sweeps,
                                          const CompareOptions& options) const {
  if (client_ == nullptr) {
    GYRE_ASSIGN_OR_RETURN(const Database database, Database::OpenReadOnly(database_));
    return gyre::Compare(database, sweeps, options);
  }
  GYRE_ASSIGN_OR_RETURN(const std::string json, client_->Compare(sweeps, options));
  return ComparisonFromJson(json);
}

}  // namespace gyre
