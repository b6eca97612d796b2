// What has to hold: after every step, and in the end.

#include <algorithm>

#include "coordinator/stop_early.h"
#include "results/database.h"
#include "tests/coordinator/simulation.h"

namespace gyre {
namespace {

/// Who looks on is spared what is wrong with the disk.
class Onlooker {
 public:
  Onlooker() { FailingDisk::Get().Suspend(true); }
  ~Onlooker() { FailingDisk::Get().Suspend(false); }
};

}  // namespace

double SimulatedValue(int64_t job, int64_t step) {
  return 1.0 / static_cast<double>(job * 100 + step + 1);
}

int64_t Simulation::Count(const std::string& sql) {
  const Onlooker onlooker;
  auto rows = coordinator_->store().database().Prepare(sql);
  if (!rows.ok()) return Fail(rows.status().ToString()), 0;
  const auto row = rows->Step();
  if (!row.ok()) Fail(row.status().ToString());
  return row.ok() && *row ? rows->Int(0) : 0;
}

std::string Simulation::StopReason(int64_t job) {
  const Onlooker onlooker;
  auto rows = coordinator_->store().database().Prepare("SELECT stop_reason FROM jobs WHERE id = ?");
  if (!rows.ok()) return "";
  rows->Bind(1, job);
  const auto row = rows->Step();
  return row.ok() && *row ? rows->Text(0) : "";
}

void Simulation::CheckStep() {
  if (coordinator_ == nullptr || coordinator_->store().writes() == checked_writes_) return;
  checked_writes_ = coordinator_->store().writes();
  const Onlooker onlooker;
  if (const Status status = coordinator_->CheckInvariants(); !status.ok()) Fail(status.ToString());
  const Database& database = coordinator_->store().database();
  (void)database.Execute("BEGIN");  // one look at the file, not one for each question
  CheckPromises();
  CheckEvents();
  (void)database.Execute("COMMIT");
}

// Points that were acknowledged are there, with the value of an undisturbed run, once.
void Simulation::CheckPromises() {
  const Database& database = coordinator_->store().database();
  std::set<std::pair<int64_t, int64_t>> points;
  auto rows = database.Prepare("SELECT job_id, metric, step, tokens, value FROM points");
  while (rows.ok() && *rows->Step()) {
    const int64_t job = rows->Int(0), step = rows->Int(2);
    const bool is_new = points.insert({job, step}).second;
    if (!is_new || rows->Text(1) != "m" || rows->Int(3) != step * 10 ||
        rows->Real(4) != SimulatedValue(job, step)) {
      Fail("a point is not what an undisturbed run gives");
    }
  }
  if (!std::includes(points.begin(), points.end(), promises_.points.begin(),
                     promises_.points.end())) {
    Fail("an acknowledged point is missing");
  }
  std::set<int64_t> succeeded;
  auto jobs = database.Prepare("SELECT id FROM jobs WHERE state = 'SUCCEEDED'");
  while (jobs.ok() && *jobs->Step()) succeeded.insert(jobs->Int(0));
  if (!std::includes(succeeded.begin(), succeeded.end(), promises_.finished.begin(),
                     promises_.finished.end())) {
    Fail("a job whose success was acknowledged has not succeeded");
  }
}

// Nobody is given up who was heard of.
void Simulation::CheckEvents() {
  auto rows = coordinator_->store().database().Prepare(
      "SELECT id, kind, job_id, attempt, details FROM events WHERE id > ? ORDER BY id");
  if (!rows.ok()) return Fail(rows.status().ToString());
  rows->Bind(1, checked_event_);
  while (*rows->Step()) {
    checked_event_ = rows->Int(0);
    const std::string kind = rows->Text(1);
    if (kind == "attempt_suspected") ++happened["suspected"];
    if (kind == "attempt_back") ++happened["back"];
    if (kind == "job_stop_requested") ++happened["stopped early"];
    if (kind != "attempt_lost" || rows->Text(4).find("silent") == std::string::npos) continue;
    ++happened["lost in silence"];
    const auto heard = heard_.find({rows->Int(2), static_cast<int>(rows->Int(3))});
    const Millis silence = Timing().lease + Timing().suspect_grace;
    if (heard != heard_.end() && now_ - heard->second < silence) {
      Fail("an attempt was given up " + std::to_string((now_ - heard->second).count()) +
           " ms after it was heard of");
    }
  }
}

// The rule once more, over curves that come from the file alone.
void Simulation::CheckEarlyStop(int64_t job, bool was_stopping) {
  if (!rule_ || was_stopping) return;
  const Onlooker onlooker;
  const std::string id = std::to_string(job);
  const bool is_baseline = Count(
                               "SELECT count(*) FROM variants v JOIN jobs j ON v.baseline_id = "
                               "j.variant_id WHERE j.id = " +
                               id) > 0;
  auto rows = coordinator_->store().database().Prepare(
      "SELECT p.job_id, p.tokens, p.value FROM points p JOIN jobs j ON j.id = p.job_id "
      "WHERE p.metric = 'm' AND j.seed = (SELECT seed FROM jobs WHERE id = " +
      id + ")");
  std::map<int64_t, Curve> curves;
  while (rows.ok() && *rows->Step()) curves[rows->Int(0)][rows->Int(1)] = rows->Real(2);
  std::vector<const Curve*> others;
  for (const auto& [other, curve] : curves) {
    if (other != job) others.push_back(&curve);
  }
  const Curve& own = curves[job];
  const bool is_through = !own.empty() && own.rbegin()->first >= kSimulatedSteps * 10;
  const std::string why = is_baseline || is_through ? "" : WhyStopEarly(*rule_, own, others);
  if (why != StopReason(job)) {
    Fail("job " + id + " is to stop because \"" + StopReason(job) +
         "\", and by the file because \"" + why + "\"");
  }
}

bool Simulation::AllEnded() {
  if (coordinator_ == nullptr) return false;
  if (Count("SELECT count(*) FROM jobs WHERE state IN ('QUEUED', 'RUNNING')") > 0) return false;
  return wants_all_ ||
         Count("SELECT count(*) FROM jobs WHERE state NOT IN ('SUCCEEDED', 'STOPPED_EARLY')") == 0;
}

// Each row that a point of a step with statistics has beside it, once, whatever became of the
// attempts that reported it.
void Simulation::CheckStatistics() {
  const Database& database = coordinator_->store().database();
  auto rows = database.Prepare("SELECT job_id, step, tokens, head, diagonal FROM head_scores");
  int64_t count = 0;
  for (; rows.ok() && *rows->Step(); ++count) {
    const int64_t job = rows->Int(0), step = rows->Int(1);
    if (step % 2 != 0 || rows->Int(2) != step * 10 || rows->Real(4) != SimulatedValue(job, step)) {
      Fail("statistics are not what an undisturbed run gives");
    }
  }
  if (Count("SELECT 2 * count(*) FROM points WHERE step % 2 = 0") != count) {
    Fail("statistics and the points that came with them are not together");
  }
}

void Simulation::CheckJobs() {
  auto jobs = coordinator_->store().database().Prepare(
      "SELECT j.id, j.state, j.error, j.stop_reason, (SELECT count(*) FROM points p WHERE p.job_id "
      "= j.id) FROM jobs j WHERE j.reused_from IS NULL ORDER BY j.id");
  while (jobs.ok() && *jobs->Step()) {
    const int64_t job = jobs->Int(0);
    const std::string state = jobs->Text(1), error = jobs->Text(2), reason = jobs->Text(3);
    bool right = state == "FAILED" && !error.empty();
    if (state == "SUCCEEDED") right = jobs->Int(4) == kSimulatedSteps && reason.empty();
    if (state == "STOPPED_EARLY") {
      right = rule_ && reason.rfind(rule_->rule + ": ", 0) == 0 && job % 4 != 1;
    }
    if (!right) {
      Fail("job " + std::to_string(job) + " ended as " + state + " with " +
           std::to_string(jobs->Int(4)) + " points: " + error + reason);
    }
  }
}

void Simulation::CheckEnd() {
  const Onlooker onlooker;
  CheckPromises();
  CheckStatistics();
  CheckJobs();
  if (Count("SELECT count(*) FROM jobs WHERE memory_failures > 2") != 0) {
    Fail("a job was tried again and again for want of memory");
  }
  if (Count("SELECT count(*) FROM events WHERE kind = 'nondeterminism'") != 0 ||
      Count("SELECT count(*) FROM (SELECT 1 FROM events WHERE kind = 'job_succeeded' GROUP BY "
            "job_id HAVING count(*) > 1)") != 0 ||
      Count("SELECT count(*) FROM attempts WHERE state IN ('LEASED', 'RUNNING')") != 0) {
    Fail("nondeterminism, a job that succeeded twice, or an attempt that lives on");
  }
}

// A lease as it leaves the coordinator, whether or not it arrives.
void Simulation::TakeLease(const LeaseReply& lease) {
  const Onlooker onlooker;
  Heard({lease.job_id, lease.attempt, "", ""});
  int& newest = promises_.newest_attempt[lease.job_id];
  if (lease.attempt <= newest) Fail("an attempt number was granted twice");
  newest = lease.attempt;
  if (promises_.finished.contains(lease.job_id)) Fail("a finished job was granted");
  const std::string id = std::to_string(lease.job_id);
  if (Count("SELECT count(*) FROM jobs j JOIN sweeps s ON s.id = j.sweep_id WHERE j.id = " + id +
            " AND j.state = 'RUNNING' AND j.stop_reason = '' AND NOT j.paused AND s.intent = "
            "'ACTIVE'") != 1) {
    Fail("a job was granted that nobody wants to run");
  }
  if (lease.checkpoint_hash.empty()) return;
  ++happened["resumed"];
  if (!objects_.contains(lease.checkpoint_hash))
    Fail("a checkpoint was called obsolete and is needed");
}

}  // namespace gyre
