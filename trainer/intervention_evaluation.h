#pragma once

// What interventions (config/intervention.h) do to a trained model, at the end of a job. Of each
// validation set, in the windows that SET/loss_sample comes from, at data.context:
//   SET/loss_sample/NAME      the loss with the intervention NAME made
//   SET/loss_change/NAME      that loss less the untouched model's
// The same windows with and without, so that differences of a thousandth are real. And of each task
// (task_evaluation.h), at data.context, over all distances:
//   TASK/accuracy/NAME, TASK/accuracy_change/NAME, TASK/loss_change/NAME
// Points are a function of the job, and the model is afterwards, bit for bit, what it was.

#include <functional>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/evaluation.h"
#include "trainer/job_data.h"
#include "trainer/model/model.h"
#include "trainer/ranks.h"
#include "trainer/task_evaluation.h"

namespace gyre {

/// Whether to break off; all ranks answer alike.
using StopWish = std::function<Result<bool>()>;

/// Calls `measure` while the model, of data.context and with the encoding in force after `tokens`,
/// is changed; afterwards it is as before, whatever `measure` said.
Status WithIntervention(const Intervention& intervention, const JobConfig& config, int64_t tokens,
                        Model* model, const std::function<Status()>& measure);

/// False if it was broken off: `stop` is asked before each intervention. All ranks get all points.
Result<bool> EvaluateInterventions(const JobConfig& config, int micro_batch, int64_t tokens,
                                   const std::vector<ValidationSet>& sets,
                                   const std::vector<TaskEvaluation>& tasks, const Ranks& ranks,
                                   Model* model, const PointSink& point, const StopWish& stop);

}  // namespace gyre
