// Ending jobs early: the curves of a sweep that has such a rule, and what becomes of a job without
// hope. stop_early.h says who has none.

#include "coordinator/coordinator.h"
#include "coordinator/stop_early.h"

namespace gyre {

Status Coordinator::JudgeEarly(JobEntry& job, const std::vector<PointRecord>& points,
                               const Moment& at) {
  SweepEntry& sweep = *state_.FindSweep(job.record.sweep_id);
  if (!sweep.record.stop_early) return OkStatus();
  const StopEarlyRule& rule = *sweep.record.stop_early;
  bool is_news = false;
  for (const PointRecord& point : points) is_news |= point.metric == rule.metric;
  if (!is_news) return OkStatus();
  if (!sweep.curves) {
    // After a start; these points are in the file already.
    GYRE_ASSIGN_OR_RETURN(sweep.curves, store_->CurvesOf(sweep.record.id, rule.metric));
  }
  Curve& own = (*sweep.curves)[job.record.seed][job.record.id];
  for (const PointRecord& point : points) {
    if (point.metric == rule.metric) own[point.tokens] = point.value;
  }
  // Its points count for the others all the same.
  if (!job.record.stop_reason.empty()) return OkStatus();
  // Without it the others would have nothing to be compared with. Nothing is saved at the end.
  if (state_.IsBaseline(job.record.variant_id)) return OkStatus();
  if (own.rbegin()->first >= job.record.tokens_budget) return OkStatus();
  std::vector<const Curve*> others;
  for (const auto& [id, curve] : (*sweep.curves)[job.record.seed]) {
    if (id != job.record.id) others.push_back(&curve);
  }
  job.record.stop_reason = WhyStopEarly(rule, own, others);
  if (job.record.stop_reason.empty()) return OkStatus();
  return Note(
      "job_stop_requested",
      {.job = &job, .attempt = job.record.attempt, .details = {{"reason", job.record.stop_reason}}},
      at);
}

}  // namespace gyre
