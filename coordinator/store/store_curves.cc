// Curves as they are judged while jobs run.

#include <limits>

#include "coordinator/store/store.h"

namespace gyre {

Result<SeedCurves> Store::CurvesOf(int64_t sweep_id, const std::string& metric) {
  GYRE_ASSIGN_OR_RETURN(
      Statement * rows,
      Bound("SELECT DISTINCT j.seed, p.job_id, p.tokens, p.value FROM jobs j JOIN points p "
            "ON p.job_id = coalesce(j.reused_from, j.id) AND p.metric = ? WHERE j.sweep_id = ?",
            metric, sweep_id));
  SeedCurves curves;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
    if (!row) return curves;
    const double value = rows->IsNull(3) ? std::numeric_limits<double>::quiet_NaN() : rows->Real(3);
    curves[static_cast<uint64_t>(rows->Int(0))][rows->Int(1)][rows->Int(2)] = value;
  }
}

}  // namespace gyre
