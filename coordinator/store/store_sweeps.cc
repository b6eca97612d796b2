// Sweeps, variants, jobs, data sets, workers and events as rows.

#include <nlohmann/json.hpp>

#include "coordinator/store/store.h"

namespace gyre {

Result<int64_t> Store::Insert(const SweepRecord& sweep, Millis wall) {
  const nlohmann::json resources = {{"gpus", sweep.resources.gpus},
                                    {"cpus", sweep.resources.cpus},
                                    {"memory_bytes", sweep.resources.memory_bytes},
                                    {"memory_parts", sweep.resources.memory_parts}};
  GYRE_RETURN_IF_ERROR(
      Run("INSERT INTO sweeps (name, description, question, yaml, file, folder, resolved, intent, "
          "priority, baseline, resources, retry_attempts, retry_backoff_ms, timeout_ms, "
          "submitted_by, submitted_at, stop_early, extended) VALUES "
          "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
          sweep.name, sweep.description, sweep.question, sweep.yaml, sweep.file, sweep.folder,
          sweep.resolved, Name(sweep.intent), sweep.priority, sweep.baseline, resources.dump(),
          sweep.retry_attempts, sweep.retry_backoff_ms, sweep.timeout_ms, sweep.submitted_by,
          FormatUtc(wall), StopEarlyToJson(sweep.stop_early), sweep.extended));
  return database_.LastInsertId();
}

Result<int64_t> Store::Insert(const VariantRecord& variant) {
  GYRE_RETURN_IF_ERROR(
      Run("INSERT INTO variants (sweep_id, name, config, train_dataset, validation_datasets, "
          "initial_weights, position_type, theta, p, keep, spacing) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
          variant.sweep_id, variant.name, variant.config, variant.train_dataset,
          variant.validation_datasets, variant.initial_weights, variant.position_type,
          variant.theta, variant.p, variant.keep, variant.spacing));
  return database_.LastInsertId();
}

Status Store::SetBaseline(int64_t variant_id, int64_t baseline_id) {
  return Run("UPDATE variants SET baseline_id = ? WHERE id = ?", baseline_id, variant_id);
}

Result<int64_t> Store::Insert(const JobRecord& job, Millis wall) {
  GYRE_RETURN_IF_ERROR(
      Run("INSERT INTO jobs (sweep_id, variant_id, seed, key, state, parameters, tokens_budget, "
          "tokens_done, rotation, reused_from, diverged_at_step, queued_at, ended_at) "
          "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)",
          job.sweep_id, job.variant_id, static_cast<int64_t>(job.seed), job.key, Name(job.state),
          job.parameters, job.tokens_budget, job.tokens_done, job.rotation, job.reused_from,
          job.diverged_at_step, FormatUtc(wall), job.ended_at));
  return database_.LastInsertId();
}

Status Store::Put(const DatasetRecord& dataset) {
  return Run(
      "INSERT INTO datasets (hash, name, tokens, documents, bytes, vocab_size, tokenizer, license, "
      "source) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (hash) DO NOTHING",
      dataset.hash, dataset.name, dataset.tokens, dataset.documents, dataset.bytes,
      dataset.vocab_size, dataset.tokenizer, dataset.license, dataset.source);
}

Status Store::SetName(int64_t sweep_id, const std::string& name) {
  return Run("UPDATE sweeps SET name = ? WHERE id = ?", name, sweep_id);
}

Status Store::UpdateIntent(const SweepRecord& sweep) {
  return Run("UPDATE sweeps SET intent = ?, pause_reason = ?, resumed_at = ? WHERE id = ?",
             Name(sweep.intent), sweep.pause_reason, sweep.resumed_at, sweep.id);
}

Result<bool> Store::IsModel(const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(Statement * rows, Bound("SELECT 1 FROM models WHERE name = ?", name));
  return Step(rows);
}

Result<std::string> Store::ResolvedOf(int64_t sweep_id) {
  GYRE_ASSIGN_OR_RETURN(Statement * rows,
                        Bound("SELECT resolved FROM sweeps WHERE id = ?", sweep_id));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  if (!row) return NotFound("there is no sweep with id " + std::to_string(sweep_id));
  return rows->Text(0);
}

Result<std::optional<int64_t>> Store::FindFinished(const std::string& key) {
  GYRE_ASSIGN_OR_RETURN(Statement * rows,
                        Bound("SELECT min(id) FROM jobs WHERE key = ? AND state = 'SUCCEEDED' AND "
                              "reused_from IS NULL",
                              key));
  GYRE_ASSIGN_OR_RETURN(const bool row, Step(rows));
  if (!row || rows->IsNull(0)) return std::optional<int64_t>();
  return std::optional<int64_t>(rows->Int(0));
}

Status Store::Update(const JobRecord& job) {
  return Run(
      "UPDATE jobs SET state = ?, cancel_requested = ?, tokens_done = ?, diverged_at_step = ?, "
      "attempt = ?, failures = ?, losses = ?, memory_failures = ?, forgiven = ?, stop_reason = ?, "
      "ran_ms = ?, ended_at = ?, "
      "error = ?, paused = ?, differing_points = ? WHERE id = ?",
      Name(job.state), job.cancel_requested, job.tokens_done, job.diverged_at_step, job.attempt,
      job.failures, job.losses, job.memory_failures, job.forgiven, job.stop_reason, job.ran_ms,
      job.ended_at, job.error, job.paused, job.differing_points, job.id);
}

Result<int64_t> Store::Insert(const WorkerRecord& worker, Millis wall) {
  GYRE_RETURN_IF_ERROR(
      Run("INSERT INTO workers (name, incarnation, version, state, slots, cpus, memory_bytes, "
          "registered_at, last_seen_at) VALUES (?,?,?,?,?,?,?,?,?)",
          worker.name, worker.incarnation, worker.version, worker.gone ? "GONE" : "ACTIVE",
          worker.slots, worker.cpus, worker.memory_bytes, FormatUtc(wall), FormatUtc(wall)));
  return database_.LastInsertId();
}

Status Store::Update(const WorkerRecord& worker, Millis wall) {
  return Run(
      "UPDATE workers SET incarnation = ?, version = ?, state = ?, slots = ?, cpus = ?, "
      "memory_bytes = ?, last_seen_at = ?, "
      "registered_at = CASE WHEN incarnation = ? THEN registered_at ELSE ? END WHERE id = ?",
      worker.incarnation, worker.version, worker.gone ? "GONE" : "ACTIVE", worker.slots,
      worker.cpus, worker.memory_bytes, FormatUtc(worker.last_seen_at), worker.incarnation,
      FormatUtc(wall), worker.id);
}

Status Store::SetDevices(const WorkerRecord& worker) {
  GYRE_RETURN_IF_ERROR(Run("DELETE FROM devices WHERE worker_id = ?", worker.id));
  for (const DeviceRecord& device : worker.devices) {
    GYRE_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO devices (worker_id, name, kind, model, memory_bytes) "
            "VALUES (?,?,?,?,?)",
            worker.id, device.name, device.kind, device.model, device.memory_bytes));
  }
  return OkStatus();
}

Result<int64_t> Store::Append(const EventRecord& event, Millis wall) {
  GYRE_RETURN_IF_ERROR(
      Run("INSERT INTO events (at, kind, sweep_id, job_id, attempt, worker_id, details) "
          "VALUES (?,?,?,?,?,?,?)",
          FormatUtc(wall), event.kind, event.sweep_id, event.job_id, event.attempt, event.worker_id,
          event.details));
  return database_.LastInsertId();
}

}  // namespace gyre
