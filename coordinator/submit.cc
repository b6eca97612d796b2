// Submitting.

#include <utility>

#include "coordinator/coordinator.h"
#include "coordinator/explain.h"

namespace gyre {
namespace {

// Workers that were here before may come back; who has none here yet may be about to start them.
Status CheckCouldRun(State& state, const PreparedSweep& prepared) {
  std::vector<WorkerRecord> known;
  bool is_anyone_here = false;
  for (const auto& [id, worker] : state.workers()) {
    is_anyone_here |= !worker.record.gone && worker.heartbeats > 0;
    known.push_back(worker.record);
    known.back().gone = false;
  }
  if (!is_anyone_here) return OkStatus();
  std::vector<const WorkerRecord*> workers;
  for (const WorkerRecord& worker : known) workers.push_back(&worker);
  const std::string why = WhyNoneFits(prepared.record.resources, workers);
  if (why.empty()) return OkStatus();
  return FailedPrecondition("the sweep '" + prepared.record.name + "' would wait for ever: " + why +
                            "; start a worker that can run it first, or ask for less");
}

// The other way round, an analysis does not take a sweep's name.
Status CheckNoModel(Store& store, const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const bool is_model, store.IsModel(name));
  if (!is_model) return OkStatus();
  return AlreadyExists("a pretrained model that was analysed into this database is called '" +
                       name +
                       "', and views and plots know both by their names; choose another name");
}

}  // namespace

Result<std::vector<SubmitReply>> Coordinator::Submit(const PreparedSubmission& submission,
                                                     const Moment& at) {
  // All of them or none: refuse before anything is written.
  for (const PreparedSweep& prepared : submission.sweeps) {
    const SweepEntry* existing = state_.FindSweep(prepared.record.name);
    bool same = false;
    if (existing != nullptr) {
      GYRE_ASSIGN_OR_RETURN(same, IsSame(*existing, prepared));
    }
    if (existing == nullptr) GYRE_RETURN_IF_ERROR(CheckNoModel(*store_, prepared.record.name));
    if (!same) GYRE_RETURN_IF_ERROR(CheckCouldRun(state_, prepared));
    if (existing == nullptr || submission.replace || submission.fresh) continue;
    if (!same) {
      return AlreadyExists(
          "a sweep named '" + prepared.record.name + "' with other content exists (submitted " +
          existing->record.submitted_at +
          "); choose another name, or replace it with --replace: finished jobs with "
          "the same identity are reused");
    }
  }
  for (const DatasetRecord& dataset : submission.datasets) {
    GYRE_RETURN_IF_ERROR(store_->Put(dataset));
  }
  std::vector<SubmitReply> replies;
  for (const PreparedSweep& prepared : submission.sweeps) {
    SweepEntry* existing = state_.FindSweep(prepared.record.name);
    std::string replaced;
    if (existing != nullptr) {
      GYRE_ASSIGN_OR_RETURN(const bool same, IsSame(*existing, prepared));
      if (same && !(submission.fresh && HasResults(*existing))) {
        GYRE_ASSIGN_OR_RETURN(SubmitReply reply, Attach(*existing, prepared, at));
        replies.push_back(std::move(reply));
        continue;
      }
      GYRE_ASSIGN_OR_RETURN(replaced, Replace(*existing, at));
    }
    GYRE_ASSIGN_OR_RETURN(SubmitReply reply, Insert(prepared, submission.fresh, at));
    reply.replaced = std::move(replaced);
    replies.push_back(std::move(reply));
  }
  return replies;
}

Result<bool> Coordinator::IsSame(const SweepEntry& sweep, const PreparedSweep& prepared) {
  GYRE_ASSIGN_OR_RETURN(const std::string resolved, store_->ResolvedOf(sweep.record.id));
  return resolved == prepared.record.resolved;
}

bool Coordinator::HasResults(const SweepEntry& sweep) {
  for (const int64_t job : sweep.jobs) {
    if (HasEnded(state_.FindJob(job)->record.state)) return true;
  }
  return false;
}

SubmitReply Coordinator::CountJobs(const SweepEntry& sweep) {
  SubmitReply reply;
  reply.id = sweep.record.id;
  reply.name = sweep.record.name;
  reply.jobs = static_cast<int>(sweep.jobs.size());
  for (const int64_t id : sweep.jobs) {
    const JobRecord& job = state_.FindJob(id)->record;
    if (job.reused_from) ++reply.reused;
    if (job.state == JobState::kSucceeded) ++reply.finished;
  }
  return reply;
}

Result<SubmitReply> Coordinator::Attach(SweepEntry& sweep, const PreparedSweep& prepared,
                                        const Moment& at) {
  GYRE_RETURN_IF_ERROR(MakeActive(sweep, at).status());
  GYRE_ASSIGN_OR_RETURN(const int requeued, ReviveJobs(sweep, at));
  GYRE_RETURN_IF_ERROR(
      Note("sweep_attached", {.sweep = sweep.record.id, .details = {{"requeued", requeued}}}, at));
  SubmitReply reply = CountJobs(sweep);
  reply.attached = true;
  reply.requeued = requeued;
  reply.notes = prepared.notes;
  return reply;
}

Result<std::string> Coordinator::Replace(SweepEntry& sweep, const Moment& at) {
  if (sweep.unfinished > 0) GYRE_RETURN_IF_ERROR(CancelJobs(sweep, at).status());
  const std::string name = sweep.record.name + "@" + std::to_string(sweep.record.id);
  state_.Rename(sweep, name);
  GYRE_RETURN_IF_ERROR(store_->SetName(sweep.record.id, name));
  GYRE_RETURN_IF_ERROR(
      Note("sweep_replaced", {.sweep = sweep.record.id, .details = {{"name", name}}}, at));
  return name;
}

Result<SubmitReply> Coordinator::Insert(const PreparedSweep& prepared, bool fresh,
                                        const Moment& at) {
  SweepRecord record = prepared.record;
  record.submitted_at = FormatUtc(at.wall);
  GYRE_ASSIGN_OR_RETURN(record.id, store_->Insert(record, at.wall));
  record.yaml.clear();  // kept by the file alone
  record.resolved.clear();
  SweepEntry& sweep = state_.Add(std::move(record));

  std::vector<int64_t> variants;
  for (const PreparedVariant& variant : prepared.variants) {
    VariantRecord row = variant.record;
    row.sweep_id = sweep.record.id;
    GYRE_ASSIGN_OR_RETURN(row.id, store_->Insert(row));
    state_.Add(row);
    variants.push_back(row.id);
  }
  for (size_t i = 0; i < variants.size(); ++i) {
    const int baseline = prepared.variants[i].baseline;
    if (baseline < 0) continue;
    GYRE_RETURN_IF_ERROR(store_->SetBaseline(variants[i], variants[static_cast<size_t>(baseline)]));
    state_.MarkBaseline(variants[static_cast<size_t>(baseline)]);
  }
  GYRE_RETURN_IF_ERROR(InsertJobs(prepared, sweep.record.id, variants, fresh, at));

  SubmitReply reply = CountJobs(sweep);
  reply.notes = prepared.notes;
  GYRE_RETURN_IF_ERROR(Note(
      "sweep_submitted",
      {.sweep = sweep.record.id,
       .details = {{"name", sweep.record.name}, {"jobs", reply.jobs}, {"reused", reply.reused}}},
      at));
  if (sweep.unfinished == 0) {
    GYRE_RETURN_IF_ERROR(Note("sweep_finished", {.sweep = sweep.record.id}, at));
  }
  return reply;
}

Status Coordinator::InsertJobs(const PreparedSweep& prepared, int64_t sweep_id,
                               const std::vector<int64_t>& variants, bool fresh, const Moment& at) {
  std::vector<int64_t> ids;
  for (const Job& job : prepared.jobs) {
    const auto variant = static_cast<size_t>(job.variant);
    JobRecord record;
    record.sweep_id = sweep_id;
    record.variant_id = variants[variant];
    record.seed = job.seed;
    record.key = job.key;
    record.parameters = prepared.variants[variant].parameters;
    record.tokens_budget = prepared.variants[variant].tokens_budget;
    record.rotation = prepared.variants[variant].rotation;
    if (job.twin_of) {
      const JobRecord& twin = state_.FindJob(ids[static_cast<size_t>(*job.twin_of)])->record;
      record.reused_from = twin.reused_from.value_or(twin.id);
    } else if (!fresh && !job.key.empty()) {
      GYRE_ASSIGN_OR_RETURN(record.reused_from, store_->FindFinished(job.key));
    }
    if (record.reused_from) {
      const JobRecord& origin = state_.FindJob(*record.reused_from)->record;
      record.state = origin.state;
      record.tokens_done = origin.tokens_done;
      record.diverged_at_step = origin.diverged_at_step;
      record.ended_at = origin.ended_at;
    }
    GYRE_ASSIGN_OR_RETURN(record.id, store_->Insert(record, at.wall));
    ids.push_back(record.id);
    record.key.clear();  // kept by the file alone
    record.rotation.clear();
    state_.Add(std::move(record));
  }
  return OkStatus();
}

}  // namespace gyre
