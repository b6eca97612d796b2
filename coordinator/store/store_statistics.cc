#include "coordinator/store/statistics_sql.h"
#include "coordinator/store/store.h"

namespace gyre {

Status Store::Put(const AttemptRecord& attempt, const StatisticsRecord& statistics) {
  return PutStatistics(
      {.job = attempt.job_id, .model = std::nullopt, .attempt = attempt.number}, statistics,
      [this](const char* sql, const auto&... values) { return Run(sql, values...); });
}

}  // namespace gyre
