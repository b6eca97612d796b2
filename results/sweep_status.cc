#include "results/sweep_status.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

void Count(const std::string& state, int count, JobCounts* jobs) {
  if (state == "QUEUED") jobs->queued = count;
  if (state == "RUNNING") jobs->running = count;
  if (state == "SUCCEEDED") jobs->succeeded = count;
  if (state == "FAILED") jobs->failed = count;
  if (state == "STOPPED_EARLY") jobs->stopped_early = count;
  if (state == "CANCELED") jobs->canceled = count;
}

void Add(const JobCounts& counts, JobCounts* sum) {
  sum->queued += counts.queued;
  sum->running += counts.running;
  sum->succeeded += counts.succeeded;
  sum->failed += counts.failed;
  sum->stopped_early += counts.stopped_early;
  sum->canceled += counts.canceled;
}

Status ReadVariants(const Database& database, SweepStatus* sweep) {
  GYRE_ASSIGN_OR_RETURN(
      Statement counts,
      database.Prepare("SELECT v.id, v.name, j.state, count(*),"
                       " coalesce(sum(j.tokens_done) FILTER (WHERE j.reused_from IS NULL), 0),"
                       " coalesce(sum(j.tokens_budget) FILTER (WHERE j.reused_from IS NULL), 0)"
                       " FROM jobs j JOIN variants v ON v.id = j.variant_id"
                       " WHERE j.sweep_id = ? GROUP BY v.id, j.state ORDER BY v.id"));
  counts.Bind(1, sweep->id);
  for (int64_t last = 0;;) {
    GYRE_ASSIGN_OR_RETURN(const bool row, counts.Step());
    if (!row) break;
    if (std::exchange(last, counts.Int(0)) != last || sweep->variants.empty()) {
      sweep->variants.push_back({.variant = counts.Text(1), .jobs = {}});
    }
    VariantStatus& variant = sweep->variants.back();
    Count(counts.Text(2), static_cast<int>(counts.Int(3)), &variant.jobs);
    variant.tokens_done += counts.Int(4);
    variant.tokens_budget += counts.Int(5);
  }
  for (const VariantStatus& variant : sweep->variants) {
    Add(variant.jobs, &sweep->jobs);
    sweep->tokens_done += variant.tokens_done;
    sweep->tokens_budget += variant.tokens_budget;
  }
  return OkStatus();
}

/// Files of older versions lack some.
Result<bool> HasColumn(const Database& database, const std::string& table,
                       const std::string& column) {
  GYRE_ASSIGN_OR_RETURN(Statement statement,
                        database.Prepare("SELECT 1 FROM pragma_table_info(?) WHERE name = ?"));
  statement.Bind(1, table);
  statement.Bind(2, column);
  return statement.Step();
}

Status ReadPauseReason(const Database& database, SweepStatus* sweep) {
  GYRE_ASSIGN_OR_RETURN(const bool exists, HasColumn(database, "sweeps", "pause_reason"));
  if (!exists) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(Statement reason,
                        database.Prepare("SELECT pause_reason FROM sweeps WHERE id = ?"));
  reason.Bind(1, sweep->id);
  GYRE_ASSIGN_OR_RETURN(const bool row, reason.Step());
  if (row) sweep->pause_reason = reason.Text(0);
  return OkStatus();
}

Status ReadDoubts(const Database& database, SweepStatus* sweep) {
  GYRE_ASSIGN_OR_RETURN(const bool exists, HasColumn(database, "jobs", "differing_points"));
  if (!exists) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(
      Statement sum,
      database.Prepare("SELECT coalesce(sum(differing_points), 0) FROM jobs WHERE sweep_id = ?"));
  sum.Bind(1, sweep->id);
  GYRE_RETURN_IF_ERROR(sum.Step().status());
  sweep->differing_points = sum.Int(0);
  for (RunningJobStatus& job : sweep->running) {
    GYRE_ASSIGN_OR_RETURN(Statement silent,
                          database.Prepare("SELECT coalesce(suspected_at, '') FROM attempts WHERE "
                                           "job_id = ? AND number = ?"));
    silent.Bind(1, job.job_id);
    silent.Bind(2, int64_t{job.attempt});
    GYRE_ASSIGN_OR_RETURN(const bool row, silent.Step());
    if (row) job.suspected_at = silent.Text(0);
  }
  return OkStatus();
}

Status ReadRunningJobs(const Database& database, SweepStatus* sweep) {
  GYRE_ASSIGN_OR_RETURN(
      Statement jobs,
      database.Prepare("SELECT j.id, v.name, j.seed, j.tokens_done, j.tokens_budget,"
                       " coalesce(a.number, 0), coalesce(w.name, ''),"
                       " (SELECT p.step FROM points p WHERE p.job_id = j.id"
                       "   AND p.metric = 'train/loss' ORDER BY p.step DESC LIMIT 1),"
                       " (SELECT p.value FROM points p WHERE p.job_id = j.id"
                       "   AND p.metric = 'train/loss' ORDER BY p.step DESC LIMIT 1)"
                       " FROM jobs j JOIN variants v ON v.id = j.variant_id"
                       " LEFT JOIN attempts a ON a.job_id = j.id"
                       "   AND a.state IN ('LEASED', 'RUNNING')"
                       " LEFT JOIN workers w ON w.id = a.worker_id"
                       " WHERE j.sweep_id = ? AND j.state = 'RUNNING' AND j.reused_from IS NULL"
                       " ORDER BY j.id"));
  jobs.Bind(1, sweep->id);
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, jobs.Step());
    if (!row) return OkStatus();
    RunningJobStatus& job = sweep->running.emplace_back();
    job.job_id = jobs.Int(0);
    job.sweep = sweep->name;
    job.variant = jobs.Text(1);
    job.seed = static_cast<uint64_t>(jobs.Int(2));
    job.tokens = jobs.Int(3);
    job.tokens_budget = jobs.Int(4);
    job.attempt = static_cast<int>(jobs.Int(5));
    job.worker = jobs.Text(6);
    job.step = jobs.IsNull(7) ? 0 : jobs.Int(7);
    if (!jobs.IsNull(8)) job.loss = jobs.Real(8);
  }
}

/// Jobs in a state, with the column that says why.
Status ReadEndings(const Database& database, int64_t sweep, const char* state, const char* why,
                   std::vector<FailedJobStatus>* endings) {
  GYRE_ASSIGN_OR_RETURN(Statement jobs,
                        database.Prepare("SELECT j.id, v.name, j.seed, s." + std::string(why) +
                                         " FROM jobs j JOIN variants v ON v.id = j.variant_id"
                                         " JOIN jobs s ON s.id = coalesce(j.reused_from, j.id)"
                                         " WHERE j.sweep_id = ? AND j.state = ? ORDER BY j.id"));
  jobs.Bind(1, sweep);
  jobs.Bind(2, state);
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, jobs.Step());
    if (!row) return OkStatus();
    endings->push_back({.job_id = jobs.Int(0),
                        .variant = jobs.Text(1),
                        .seed = static_cast<uint64_t>(jobs.Int(2)),
                        .error = jobs.Text(3)});
  }
}

Result<std::vector<std::string>> SweepNames(const Database& database, const char* sql) {
  GYRE_ASSIGN_OR_RETURN(Statement statement, database.Prepare(sql));
  std::vector<std::string> names;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return names;
    names.push_back(statement.Text(0));
  }
}

Result<SweepStatus> ReadSweepInSnapshot(const Database& database, const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(
      Statement statement,
      database.Prepare("SELECT id, name, question, intent, baseline, submitted_at,"
                       " (SELECT coalesce(max(e.id), 0) FROM events e)"
                       " FROM sweeps WHERE name = ?"));
  statement.Bind(1, name);
  GYRE_ASSIGN_OR_RETURN(const bool found, statement.Step());
  if (!found) {
    GYRE_ASSIGN_OR_RETURN(
        const std::vector<std::string> names,
        SweepNames(database, "SELECT name FROM sweeps ORDER BY id DESC LIMIT 20"));
    std::string message = "no sweep is called '" + name + "'; there are";
    if (names.empty()) return NotFound(message + " no sweeps");
    for (size_t i = 0; i < names.size(); ++i) message += (i == 0 ? ": " : ", ") + names[i];
    return NotFound(message);
  }
  SweepStatus sweep{.id = statement.Int(0),
                    .name = statement.Text(1),
                    .question = statement.Text(2),
                    .intent = statement.Text(3),
                    .baseline = statement.Text(4),
                    .submitted_at = statement.Text(5),
                    .last_event_id = statement.Int(6)};
  GYRE_RETURN_IF_ERROR(ReadPauseReason(database, &sweep));
  GYRE_RETURN_IF_ERROR(ReadVariants(database, &sweep));
  GYRE_RETURN_IF_ERROR(ReadRunningJobs(database, &sweep));
  GYRE_RETURN_IF_ERROR(ReadDoubts(database, &sweep));
  GYRE_RETURN_IF_ERROR(ReadEndings(database, sweep.id, "FAILED", "error", &sweep.failures));
  GYRE_ASSIGN_OR_RETURN(const bool has_reasons, HasColumn(database, "jobs", "stop_reason"));
  if (has_reasons) {
    GYRE_RETURN_IF_ERROR(
        ReadEndings(database, sweep.id, "STOPPED_EARLY", "stop_reason", &sweep.stopped_early));
  }
  return sweep;
}

Result<std::multimap<int64_t, WorkerDevice>> ReadDevices(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(Statement rows,
                        database.Prepare("SELECT worker_id, name, kind, model, memory_bytes"
                                         " FROM devices ORDER BY worker_id, name"));
  std::multimap<int64_t, WorkerDevice> devices;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return devices;
    devices.insert({rows.Int(0), {rows.Text(1), rows.Text(2), rows.Text(3), rows.Int(4)}});
  }
}

Result<std::vector<WorkerStatus>> ReadWorkers(const Database& database) {
  GYRE_ASSIGN_OR_RETURN(const auto devices, ReadDevices(database));
  GYRE_ASSIGN_OR_RETURN(
      Statement rows,
      database.Prepare("SELECT w.name, w.state, w.version, w.slots, w.cpus, w.memory_bytes,"
                       " w.last_seen_at, (SELECT count(*) FROM attempts a WHERE a.worker_id = w.id"
                       "   AND a.state IN ('LEASED', 'RUNNING')), w.id"
                       " FROM workers w ORDER BY w.name"));
  std::vector<WorkerStatus> workers;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool row, rows.Step());
    if (!row) return workers;
    workers.push_back({.name = rows.Text(0),
                       .state = rows.Text(1),
                       .version = rows.Text(2),
                       .slots = static_cast<int>(rows.Int(3)),
                       .busy = static_cast<int>(rows.Int(7)),
                       .cpus = static_cast<int>(rows.Int(4)),
                       .memory_bytes = rows.Int(5),
                       .last_seen_at = rows.Text(6)});
    const auto [first, end] = devices.equal_range(rows.Int(8));
    for (auto device = first; device != end; ++device) {
      workers.back().devices.push_back(device->second);
    }
  }
}

Result<ClusterStatus> ReadClusterInSnapshot(const Database& database) {
  ClusterStatus cluster;
  GYRE_ASSIGN_OR_RETURN(cluster.workers, ReadWorkers(database));
  GYRE_ASSIGN_OR_RETURN(
      const std::vector<std::string> names,
      SweepNames(
          database,
          "SELECT name FROM sweeps s WHERE EXISTS (SELECT 1 FROM jobs j"
          " WHERE j.sweep_id = s.id AND j.state IN ('QUEUED', 'RUNNING')) ORDER BY id DESC"));
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(SweepStatus sweep, ReadSweepInSnapshot(database, name));
    cluster.queued += sweep.jobs.queued;
    cluster.sweeps.push_back(std::move(sweep));
  }
  return cluster;
}

Json ToJson(const RunningJobStatus& job) {
  Json json = {{"job", job.job_id},
               {"variant", job.variant},
               {"seed", job.seed},
               {"worker", job.worker},
               {"attempt", job.attempt},
               {"step", job.step},
               {"tokens", job.tokens},
               {"tokens_budget", job.tokens_budget},
               {"tokens_per_second", nullptr},
               {"loss", nullptr}};
  if (job.tokens_per_second > 0) json["tokens_per_second"] = job.tokens_per_second;
  if (job.loss && std::isfinite(*job.loss)) json["loss"] = *job.loss;
  if (!job.suspected_at.empty()) json["suspected_at"] = job.suspected_at;
  return json;
}

Json ToJson(const JobCounts& jobs) {
  return {{"queued", jobs.queued},
          {"running", jobs.running},
          {"succeeded", jobs.succeeded},
          {"failed", jobs.failed},
          {"stopped_early", jobs.stopped_early},
          {"canceled", jobs.canceled}};
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ToJson(const SweepStatus& sweep) {
  Json json = {{"sweep", sweep.name},
               {"intent", sweep.intent},
               {"jobs", ToJson(sweep.jobs)},
               {"id", sweep.id},
               {"question", sweep.question},
               {"baseline", TextOrNull(sweep.baseline)},
               {"submitted_at", sweep.submitted_at},
               {"tokens_done", sweep.tokens_done},
               {"tokens_budget", sweep.tokens_budget},
               {"pause_reason", TextOrNull(sweep.pause_reason)},
               {"waiting", TextOrNull(sweep.waiting)},
               {"problem", TextOrNull(sweep.problem)},
               {"differing_points", sweep.differing_points},
               {"variants", Json::array()},
               {"running", Json::array()},
               {"failures", Json::array()},
               {"stopped", Json::array()}};
  for (const VariantStatus& variant : sweep.variants) {
    json["variants"].push_back({{"variant", variant.variant},
                                {"jobs", ToJson(variant.jobs)},
                                {"tokens_done", variant.tokens_done},
                                {"tokens_budget", variant.tokens_budget}});
  }
  for (const RunningJobStatus& job : sweep.running) json["running"].push_back(ToJson(job));
  for (const FailedJobStatus& job : sweep.failures) {
    json["failures"].push_back(
        {{"job", job.job_id}, {"variant", job.variant}, {"seed", job.seed}, {"error", job.error}});
  }
  for (const FailedJobStatus& job : sweep.stopped_early) {
    json["stopped"].push_back(
        {{"job", job.job_id}, {"variant", job.variant}, {"seed", job.seed}, {"reason", job.error}});
  }
  return json;
}

Json ToJson(const WorkerStatus& worker) {
  Json devices = Json::array();
  for (const WorkerDevice& device : worker.devices) {
    devices.push_back({{"name", device.name},
                       {"kind", device.kind},
                       {"model", device.model},
                       {"memory_bytes", device.memory_bytes}});
  }
  Json json = {{"name", worker.name},
               {"state", worker.state},
               {"version", worker.version},
               {"slots", worker.slots},
               {"busy", worker.busy},
               {"cpus", worker.cpus},
               {"memory_bytes", worker.memory_bytes},
               {"last_seen_at", worker.last_seen_at},
               {"devices", std::move(devices)}};
  if (!worker.problem.empty()) json["problem"] = worker.problem;
  return json;
}

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Result<SweepStatus> ReadSweepStatus(const Database& database, const std::string& name) {
  GYRE_RETURN_IF_ERROR(database.Execute("SAVEPOINT sweep_status"));
  Result<SweepStatus> sweep = ReadSweepInSnapshot(database, name);
  GYRE_RETURN_IF_ERROR(database.Execute("RELEASE sweep_status"));
  return sweep;
}

Result<ClusterStatus> ReadClusterStatus(const Database& database) {
  GYRE_RETURN_IF_ERROR(database.Execute("SAVEPOINT cluster_status"));
  Result<ClusterStatus> cluster = ReadClusterInSnapshot(database);
  GYRE_RETURN_IF_ERROR(database.Execute("RELEASE cluster_status"));
  return cluster;
}

std::string SweepStatusToJson(const SweepStatus& sweep) { return Dump(ToJson(sweep)); }

std::string ClusterStatusToJson(const ClusterStatus& cluster) {
  Json json = {{"workers", Json::array()}, {"sweeps", Json::array()}, {"queued", cluster.queued}};
  for (const WorkerStatus& worker : cluster.workers) json["workers"].push_back(ToJson(worker));
  for (const SweepStatus& sweep : cluster.sweeps) json["sweeps"].push_back(ToJson(sweep));
  json["version"] = TextOrNull(cluster.version);
  json["problem"] = TextOrNull(cluster.problem);
  return Dump(json);
}

}  // namespace gyre
