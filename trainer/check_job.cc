#include "trainer/check_job.h"

#include "trainer/config/intervention.h"

namespace gyre {

Status CheckJob(const TrainerJob& job) {
  const TrainConfig& train = job.config.train;
  if (train.tokens < (job.initial_weights.empty() ? 1 : 0)) {
    return InvalidArgument("train.tokens must be at least 1, or 0 with initial weights");
  }
  if (train.optimizer.name != "adamw") {
    return InvalidArgument("train.optimizer.name must be adamw, not '" + train.optimizer.name +
                           "'");
  }
  if (train.schedule.name != "cosine" && train.schedule.name != "constant") {
    return InvalidArgument("train.schedule.name must be cosine or constant, not '" +
                           train.schedule.name + "'");
  }
  if (!train.init_from.empty() && job.initial_weights.empty()) {
    return InvalidArgument("the job starts from " + train.init_from +
                           ", and it is not said which weights those are");
  }
  if (job.validation_datasets.empty()) return InvalidArgument("the job has no validation set");
  for (const Intervention& intervention : job.config.evaluate.interventions) {
    const Status fits = CheckIntervention(intervention, job.config.model);
    if (!fits.ok()) return fits.WithContext("evaluate.interventions: " + intervention.name);
  }
  return OkStatus();
}

}  // namespace gyre
