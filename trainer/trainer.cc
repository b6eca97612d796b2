#include "trainer/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/machine.h"
#include "trainer/backend/create_backend.h"
#include "trainer/check_job.h"
#include "trainer/checkpoint.h"
#include "trainer/collect_statistics.h"
#include "trainer/evaluation.h"
#include "trainer/final_evaluation.h"
#include "trainer/intervention_evaluation.h"
#include "trainer/job_data.h"
#include "trainer/model/memory_estimate.h"
#include "trainer/model/model.h"
#include "trainer/peak_memory.h"
#include "trainer/ranks.h"
#include "trainer/schedule.h"

namespace gyre {
namespace {

constexpr Millis kProgressInterval{250};
constexpr Millis kRoomInterval{1000};  // between two tries on a full disk
constexpr Millis kLookInterval{20};

// What somebody has asked for between two steps.
struct Wishes {
  bool stop = false, checkpoint = false;
};

// What one update was like.
struct Update {
  double loss = 0;           // nats per target of its batch
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  bool finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }
};

// What is known of a run that has failed.
struct Tried {
  int rows = 0;            // of a micro-batch; 0: it failed before anything was allocated
  std::string checkpoint;  // the newest
};

class Run {
 public:
  static Result<std::unique_ptr<Run>> Create(const TrainerJob& job, const TrainOptions& options,
                                             int most_rows, TrainObserver* observer,
                                             TrainControl* control, Tried* tried);
  Result<TrainOutcome> Train();

 private:
  Run(const TrainerJob& job, const TrainOptions& options, int most_rows, TrainObserver* observer,
      TrainControl* control, Tried* tried)
      : job_(job),
        options_(options),
        most_rows_(most_rows),
        observer_(observer),
        control_(control),
        tried_(tried),
        ranks_(options.ranks) {}

  Status ChoosePrecision();
  void SayFingerprint() const;
  int MicroBatch() const;
  Status CheckRoom() const;
  Status CreateModel();
  Status SwitchPositions();
  Status Start();
  Status StartWeights();
  Wishes TakeWishes();
  Result<bool> ToldToStop() const;
  Result<bool> EvaluateTheEnd();
  Status AddUp(double* nats, int64_t* targets);
  Result<Update> UpdateOnce();
  Status Confirm(const Update& update) const;
  Status Report(const Update& update);
  Status Sample();
  Status Collect();
  Status Checkpoint();
  Result<bool> SaveWeights();
  Result<bool> TryWrite(bool weights_only);
  void Progress(double loss);
  void Point(const std::string& metric, double value) {
    if (ranks_.speaks()) observer_->OnPoint({metric, step_, tokens(), value});
  }
  int64_t tokens() const { return step_ * job_.config.train.batch_tokens; }
  // Without a budget the initial weights are evaluated and nothing is made.
  bool trains() const { return TotalSteps(job_.config.train) > 0; }
  TrainOutcome Outcome() const;
  TrainOutcome Stopped() const;
  TrainOutcome Diverged() const;

  const TrainerJob& job_;
  const TrainOptions& options_;
  const int most_rows_;  // of a micro-batch; 0 = as the job says
  TrainObserver* const observer_;
  TrainControl* const control_;
  Tried* const tried_;
  const Ranks ranks_;
  Wishes agreed_;  // by the ranks, in the last update
  std::string key_;
  JobData data_;
  std::vector<TaskEvaluation> tasks_;
  Precision precision_ = Precision::kFloat32;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Model> model_;
  const PositionConfig* position_ = nullptr;  // what the model has
  int micro_batch_ = 1;                       // rows
  Batch batch_;
  int64_t step_ = 0, first_step_ = 0, checkpoint_step_ = -1;
  Millis started_{0}, last_progress_{0};
};

Result<std::unique_ptr<Run>> Run::Create(const TrainerJob& job, const TrainOptions& options,
                                         int most_rows, TrainObserver* observer,
                                         TrainControl* control, Tried* tried) {
  GYRE_RETURN_IF_ERROR(CheckJob(job));
  std::unique_ptr<Run> run(new Run(job, options, most_rows, observer, control, tried));
  run->key_ = job.key.empty() ? "unnamed-" + Sha256Hex(ToJson(job).dump()) : job.key;
  GYRE_RETURN_IF_ERROR(run->ChoosePrecision());
  GYRE_RETURN_IF_ERROR(run->CheckRoom());
  GYRE_ASSIGN_OR_RETURN(run->data_, OpenJobData(job, options.home));
  GYRE_ASSIGN_OR_RETURN(run->tasks_,
                        TaskEvaluationsOf(job.config, *run->data_.validation.front().dataset));
  tried->rows = run->MicroBatch();
  GYRE_RETURN_IF_ERROR(run->CreateModel());
  run->SayFingerprint();
  return run;
}

Status Run::ChoosePrecision() {
  auto wanted = PrecisionFromName(job_.config.train.precision);
  if (!wanted.ok()) return wanted.status().WithContext("train.precision");
  precision_ = UsablePrecision(options_.backend, *wanted);
  if (precision_ != *wanted) {
    LogWarning("train.precision: " + PrecisionName(*wanted) + " needs a device with such " +
               "instructions; the job trains in " + PrecisionName(precision_));
  }
  return OkStatus();
}

void Run::SayFingerprint() const {
  Json fingerprint = Fingerprint(options_.backend, options_.threads, ranks_.count());
  if (precision_ != Precision::kFloat32) fingerprint["precision"] = PrecisionName(precision_);
  if (ranks_.speaks()) observer_->OnStart(fingerprint);
}

// Rows of one forward pass of this rank, which evaluates even where it has no rows to train on.
int Run::MicroBatch() const {
  const TrainConfig& train = job_.config.train;
  const int64_t rows = train.batch_tokens / std::max(job_.config.data.context, 1);
  const auto own = static_cast<int>(std::max<int64_t>(ranks_.ShareOf(rows).size(), 1));
  int most = own;
  for (const int limit : {train.micro_batch, most_rows_}) {
    if (limit > 0) most = std::min(most, limit);
  }
  return most;
}

Status Run::CheckRoom() const {
  JobConfig config = job_.config;
  config.train.precision = PrecisionName(precision_);
  config.train.micro_batch = MicroBatch();
  if (const int device = CudaDeviceOf(options_.backend); device >= 0) {
    GYRE_ASSIGN_OR_RETURN(const int64_t free, FreeDeviceMemory(device));
    return CheckMemory(EstimateDeviceMemory(config), free, "cuda:" + std::to_string(device));
  }
  return CheckMemory(EstimateMemory(config, options_.threads), AvailableMemoryBytes());
}

Status Run::CreateModel() {
  const JobConfig& config = job_.config;
  micro_batch_ = MicroBatch();
  GYRE_ASSIGN_OR_RETURN(backend_, CreateBackend(options_.backend, options_.threads, precision_));
  GYRE_ASSIGN_OR_RETURN(auto positions,
                        ResolvePositions(config.position, config.model, config.data.context));
  GYRE_ASSIGN_OR_RETURN(
      model_, Model::Create(config.model, std::move(positions), backend_.get(), micro_batch_,
                            config.data.context, trains(), config.train.recompute == "layers"));
  position_ = &config.position;
  return OkStatus();
}

// The encoding in force after `step_`; a function of the step, so that a resumed job has it too.
Status Run::SwitchPositions() {
  const PositionConfig* now = &PositionInForce(job_.config.position, tokens());
  if (now == position_) return OkStatus();
  position_ = now;
  GYRE_ASSIGN_OR_RETURN(const auto positions,
                        ResolvePositions(*now, job_.config.model, job_.config.data.context));
  return model_->SetPositions(positions);
}

// Weights, and what step 0 says unless an earlier attempt has reported it.
Status Run::Start() {
  started_ = last_progress_ = Clock::Real().Now();
  GYRE_RETURN_IF_ERROR(StartWeights());
  if (most_rows_ > 0) Point("train/micro_batch", micro_batch_);
  if (!options_.resume_from.empty()) return SwitchPositions();
  GYRE_RETURN_IF_ERROR(Sample());
  return Collect();
}

Status Run::StartWeights() {
  if (options_.resume_from.empty()) {
    GYRE_RETURN_IF_ERROR(model_->InitializeWeights(job_.seed, options_.threads));
    if (!job_.initial_weights.empty()) {
      GYRE_RETURN_IF_ERROR(LoadInitialWeights(options_.home, job_.initial_weights, model_.get()));
    }
    return OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const CheckpointPlace place,
                        LoadCheckpoint(options_.home, options_.resume_from, key_, model_.get()));
  step_ = first_step_ = checkpoint_step_ = place.step;
  if (step_ > TotalSteps(job_.config.train) || place.tokens != tokens()) {
    return FailedPrecondition("cannot resume from checkpoint " + options_.resume_from +
                              ": it is at step " + std::to_string(place.step) + " and " +
                              std::to_string(place.tokens) + " tokens, which this job never is");
  }
  return OkStatus();
}

// Alone, what was asked for until now; ranks do what they have agreed on, so that none waits for
// one that has stopped.
Wishes Run::TakeWishes() {
  if (!ranks_.alone()) return std::exchange(agreed_, {});
  return {control_->stop.load(), control_->checkpoint.exchange(false)};
}

// Within the evaluation at the end.
Result<bool> Run::ToldToStop() const {
  double told = control_->stop.load() ? 1 : 0;
  if (!ranks_.alone()) GYRE_RETURN_IF_ERROR(ranks_.Sum({&told, 1}));
  return told > 0;
}

// Over the ranks, in one sum: the losses, and what any of them was asked for.
Status Run::AddUp(double* nats, int64_t* targets) {
  if (ranks_.alone()) return OkStatus();
  double sums[] = {*nats, static_cast<double>(*targets), control_->stop.load() ? 1.0 : 0.0,
                   control_->checkpoint.exchange(false) ? 1.0 : 0.0};
  GYRE_RETURN_IF_ERROR(ranks_.Sum(sums));
  *nats = sums[0];
  *targets = static_cast<int64_t>(sums[1]);
  agreed_ = {sums[2] > 0, sums[3] > 0};
  return OkStatus();
}

Result<Update> Run::UpdateOnce() {
  GYRE_RETURN_IF_ERROR(model_->ZeroGradients());
  double nats = 0;
  int64_t targets = 0;
  const Ranks::Share share = ranks_.ShareOf(data_.batches->rows_per_step());
  const auto end = static_cast<int>(share.end);
  for (auto row = static_cast<int>(share.begin); row < end; row += micro_batch_) {
    const int rows = std::min(micro_batch_, end - row);
    GYRE_RETURN_IF_ERROR(data_.batches->Fill(step_, row, rows, &batch_));
    GYRE_ASSIGN_OR_RETURN(const double sum, model_->ForwardBackward(batch_));
    nats += sum;
    targets += std::count_if(batch_.targets.begin(), batch_.targets.end(),
                             [](int32_t t) { return t >= 0; });
  }
  GYRE_RETURN_IF_ERROR(AddUp(&nats, &targets));
  Update update;
  update.loss = nats / static_cast<double>(targets);
  update.learning_rate = LearningRate(job_.config.train, step_);
  update.gradient_norm = std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(update.loss)) return update;
  GYRE_RETURN_IF_ERROR(ranks_.SumGradients(model_.get()));
  GYRE_ASSIGN_OR_RETURN(
      update.gradient_norm,
      model_->OptimizerStep(job_.config.train.optimizer, update.learning_rate, step_, targets));
  return update;
}

// A rank that dies while devices add up gradients leaves the others with numbers that are worth
// nothing: before anything that comes of them is said or kept, all ranks meet again.
Status Run::Confirm(const Update& update) const {
  const bool matters = EvaluatesAt(job_.config, step_) || CollectsAt(job_.config, step_) ||
                       CheckpointsAt(job_.config.train, step_) || agreed_.stop ||
                       agreed_.checkpoint || !update.finite();
  if (ranks_.alone() || !matters) return OkStatus();
  double here = 1;
  return ranks_.Sum({&here, 1});
}

Status Run::Report(const Update& update) {
  Progress(update.loss);
  if (ReportsLossAt(job_.config.train, step_) || !update.finite()) Point("train/loss", update.loss);
  const bool evaluates = EvaluatesAt(job_.config, step_);
  if (evaluates) Point("train/learning_rate", update.learning_rate);
  // A loss that is not finite has no gradient.
  if (std::isfinite(update.loss) && (evaluates || !update.finite())) {
    Point("train/gradient_norm", update.gradient_norm);
  }
  if (!update.finite()) return OkStatus();
  if (evaluates) GYRE_RETURN_IF_ERROR(Sample());
  return Collect();
}

Status Run::Sample() {
  for (const ValidationSet& set : data_.validation) {
    const int64_t sample = set.windows->SampleCount(job_.config.evaluate.tokens);
    GYRE_ASSIGN_OR_RETURN(const LossSum sum,
                          EvaluateLoss(*set.windows, sample, micro_batch_, model_.get(),
                                       /*buckets=*/nullptr, ranks_));
    Point(set.name + "/loss_sample", sum.nats / static_cast<double>(sum.targets));
  }
  return OkStatus();
}

Status Run::Collect() {
  if (!CollectsAt(job_.config, step_)) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(const StatisticsRecord record,
                        CollectStatistics(job_.config, step_, *data_.validation.front().windows,
                                          micro_batch_, ranks_, model_.get()));
  if (ranks_.speaks()) observer_->OnStatistics(record);
  return OkStatus();
}

// False: the disk is full, and that is said.
Result<bool> Run::TryWrite(bool weights_only) {
  const auto info = WriteCheckpoint(options_.home, {key_, step_, tokens()}, weights_only, *model_);
  if (info.ok()) {
    if (!weights_only) tried_->checkpoint = info->hash;
    observer_->OnCheckpoint(*info);
    return true;
  }
  if (info.status().code() != StatusCode::kResourceExhausted) return info.status();
  LogWarning(info.status().message());
  observer_->OnDiskFull(info.status().message());
  return false;
}

// Without room for it training goes on from memory: the next one may find room.
Status Run::Checkpoint() {
  if (checkpoint_step_ == step_ || !ranks_.speaks() || !trains()) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(const bool written, TryWrite(/*weights_only=*/false));
  if (written) checkpoint_step_ = step_;
  return OkStatus();
}

// However long it takes to find room. False: told to stop meanwhile.
Result<bool> Run::SaveWeights() {
  if (!ranks_.speaks() || !trains()) return true;
  while (true) {
    GYRE_ASSIGN_OR_RETURN(const bool written, TryWrite(/*weights_only=*/true));
    if (written) return true;
    const Millis again = Clock::Real().Now() + kRoomInterval;
    while (Clock::Real().Now() < again) {
      if (control_->stop.load()) return false;
      std::this_thread::sleep_for(kLookInterval);
    }
  }
}

void Run::Progress(double loss) {
  const Millis now = Clock::Real().Now();
  if (now - last_progress_ < kProgressInterval || !ranks_.speaks()) return;
  last_progress_ = now;
  observer_->OnProgress({step_, tokens(), Outcome().tokens_per_second, loss});
}

TrainOutcome Run::Outcome() const {
  TrainOutcome outcome;
  outcome.step = step_;
  outcome.tokens = tokens();
  const double seconds = std::chrono::duration<double>(Clock::Real().Now() - started_).count();
  const double trained =
      static_cast<double>((step_ - first_step_) * job_.config.train.batch_tokens);
  outcome.tokens_per_second = seconds > 0 ? trained / seconds : 0;
  outcome.peak_memory_bytes = PeakMemoryBytes();
  return outcome;
}

TrainOutcome Run::Stopped() const {
  TrainOutcome outcome = Outcome();
  outcome.stopped = true;
  return outcome;
}

TrainOutcome Run::Diverged() const {
  TrainOutcome outcome = Outcome();
  outcome.diverged_at_step = step_;
  return outcome;
}

// False: told to stop meanwhile.
Result<bool> Run::EvaluateTheEnd() {
  const PointSink point = [this](const std::string& metric, double value) { Point(metric, value); };
  StatisticsRecord documents{.step = step_, .tokens = tokens()};
  GYRE_RETURN_IF_ERROR(EvaluateAtTheEnd(job_.config, micro_batch_, tokens(), data_.validation,
                                        tasks_, ranks_, backend_.get(), model_.get(), point,
                                        &documents.document_losses));
  if (ranks_.speaks()) observer_->OnStatistics(documents);
  return EvaluateInterventions(job_.config, micro_batch_, tokens(), data_.validation, tasks_,
                               ranks_, model_.get(), point, [this] { return ToldToStop(); });
}

Result<TrainOutcome> Run::Train() {
  GYRE_RETURN_IF_ERROR(Start());
  const int64_t steps = TotalSteps(job_.config.train);
  while (step_ < steps) {
    const Wishes wishes = TakeWishes();
    if (wishes.checkpoint || wishes.stop) GYRE_RETURN_IF_ERROR(Checkpoint());
    if (wishes.stop) return Stopped();
    ++step_;
    GYRE_ASSIGN_OR_RETURN(const Update update, UpdateOnce());
    GYRE_RETURN_IF_ERROR(Confirm(update));
    GYRE_RETURN_IF_ERROR(SwitchPositions());
    GYRE_RETURN_IF_ERROR(Report(update));
    if (!update.finite()) return Diverged();
    if (CheckpointsAt(job_.config.train, step_)) GYRE_RETURN_IF_ERROR(Checkpoint());
  }
  GYRE_ASSIGN_OR_RETURN(const bool evaluated, EvaluateTheEnd());
  if (!evaluated) {
    GYRE_RETURN_IF_ERROR(Checkpoint());
    return Stopped();
  }
  GYRE_ASSIGN_OR_RETURN(const bool saved, SaveWeights());
  return saved ? Outcome() : Stopped();
}

Result<TrainOutcome> TrainAsOneRank(const TrainerJob& job, const TrainOptions& options,
                                    int most_rows, TrainObserver& observer, TrainControl& control,
                                    Tried* tried) {
  try {
    ResetPeakMemory();
    GYRE_ASSIGN_OR_RETURN(const auto run,
                          Run::Create(job, options, most_rows, &observer, &control, tried));
    return run->Train();
  } catch (const std::bad_alloc&) {  // thrown by the standard library's containers
    return ResourceExhausted("out of memory; a smaller train.micro_batch needs less");
  }
}

// Memory that was free when it was looked at may have gone to somebody else since, and an estimate
// may be wrong: once the same batches are tried in halves. Ranks would have to agree, and do not.
Result<TrainOutcome> TrainInWhatFits(const TrainerJob& job, const TrainOptions& options,
                                     TrainObserver& observer, TrainControl& control) {
  Tried tried{.checkpoint = options.resume_from};
  Result<TrainOutcome> outcome = TrainAsOneRank(job, options, 0, observer, control, &tried);
  if (outcome.ok() || outcome.status().code() != StatusCode::kResourceExhausted || tried.rows < 2 ||
      !Ranks(options.ranks).alone()) {
    return outcome;
  }
  const int half = tried.rows / 2;
  LogWarning(std::string(outcome.status().message()) + "; once more from " +
             (tried.checkpoint.empty() ? "the start" : "the newest checkpoint") +
             ", with micro-batches of " + std::to_string(half) + " rows instead of " +
             std::to_string(tried.rows) + " and the same batches");
  TrainOptions again = options;
  again.resume_from = tried.checkpoint;
  return TrainAsOneRank(job, again, half, observer, control, &tried);
}

}  // namespace

Result<TrainOutcome> Train(const TrainerJob& job, const TrainOptions& options,
                           TrainObserver& observer, TrainControl& control) {
  Result<TrainOutcome> outcome = TrainInWhatFits(job, options, observer, control);
  if (!outcome.ok()) Ranks(options.ranks).Leave(outcome.status());
  return outcome;
}

}  // namespace gyre
