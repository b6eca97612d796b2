#include "trainer/intervention_evaluation.h"

#include <algorithm>
#include <string>

#include "trainer/evaluation.h"
#include "trainer/position/intervened.h"

namespace gyre {
namespace {

// A weight as it was.
struct KeptWeight {
  std::string name;
  std::vector<float> values;
};

Status Restore(const std::vector<KeptWeight>& kept, Model* model) {
  for (const KeptWeight& weight : kept) {
    GYRE_RETURN_IF_ERROR(model->Load(TensorKind::kWeight, weight.name, weight.values));
  }
  return OkStatus();
}

Status Zero(const ZeroedWeight& zeroed, Model* model, std::vector<KeptWeight>* kept) {
  const auto& tensors = model->parameters();
  const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&zeroed](const Tensor& one) {
    return one.name == zeroed.name;
  });
  if (tensor == tensors.end()) return Internal("the model has no weight " + zeroed.name);
  const int64_t columns = tensor->shape.size() > 1 ? tensor->shape[1] : 1;
  std::vector<float> values(static_cast<size_t>(tensor->shape[0] * columns));
  GYRE_RETURN_IF_ERROR(model->Save(TensorKind::kWeight, zeroed.name, values));
  kept->push_back({zeroed.name, values});
  for (const int row : zeroed.rows) {
    std::fill_n(values.begin() + row * columns, columns, 0.0f);
  }
  return model->Load(TensorKind::kWeight, zeroed.name, values);
}

// What the model is worth, changed or not.
struct Worth {
  std::vector<double> losses;     // one a validation set
  std::vector<TaskScore> scores;  // one a task
};

Result<Worth> WorthOf(const JobConfig& config, int micro_batch,
                      const std::vector<ValidationSet>& sets,
                      const std::vector<TaskEvaluation>& tasks, const Ranks& ranks, Model* model) {
  Worth worth;
  for (const ValidationSet& set : sets) {
    GYRE_ASSIGN_OR_RETURN(
        const LossSum sum,
        EvaluateLoss(*set.windows, set.windows->SampleCount(config.evaluate.tokens), micro_batch,
                     model, /*buckets=*/nullptr, ranks));
    worth.losses.push_back(sum.mean());
  }
  for (const TaskEvaluation& task : tasks) {
    GYRE_ASSIGN_OR_RETURN(TaskScore score,
                          task.Evaluate(config.data.context, micro_batch, ranks, model));
    worth.scores.push_back(std::move(score));
  }
  return worth;
}

void Report(const std::string& name, const Worth& untouched, const Worth& changed,
            const std::vector<ValidationSet>& sets, const std::vector<TaskEvaluation>& tasks,
            const PointSink& point) {
  for (size_t i = 0; i < sets.size(); ++i) {
    point(sets[i].name + "/loss_sample/" + name, changed.losses[i]);
    point(sets[i].name + "/loss_change/" + name, changed.losses[i] - untouched.losses[i]);
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    const AnswerSum &before = untouched.scores[i].whole, &after = changed.scores[i].whole;
    if (after.answers == 0) continue;
    const std::string& task = tasks[i].task().name;
    point(task + "/accuracy/" + name, after.accuracy());
    point(task + "/accuracy_change/" + name, after.accuracy() - before.accuracy());
    point(task + "/loss_change/" + name, after.loss() - before.loss());
  }
}

}  // namespace

Status WithIntervention(const Intervention& intervention, const JobConfig& config, int64_t tokens,
                        Model* model, const std::function<Status()>& measure) {
  const int length = config.data.context;
  GYRE_ASSIGN_OR_RETURN(const auto own, ResolvePositions(PositionInForce(config.position, tokens),
                                                         config.model, length));
  GYRE_ASSIGN_OR_RETURN(const auto changed,
                        IntervenedPositions(intervention, config.model, length, own));
  std::vector<KeptWeight> kept;
  Status status = model->SetPositions(changed);
  for (const ZeroedWeight& zeroed : ZeroedWeights(intervention, config.model, own)) {
    if (status.ok()) status = Zero(zeroed, model, &kept);
  }
  if (status.ok()) status = measure();
  const Status restored = Restore(kept, model);
  const Status turned_back = model->SetPositions(own);
  return !status.ok() ? status : !restored.ok() ? restored : turned_back;
}

Result<bool> EvaluateInterventions(const JobConfig& config, int micro_batch, int64_t tokens,
                                   const std::vector<ValidationSet>& sets,
                                   const std::vector<TaskEvaluation>& tasks, const Ranks& ranks,
                                   Model* model, const PointSink& point, const StopWish& stop) {
  if (config.evaluate.interventions.empty()) return true;
  GYRE_ASSIGN_OR_RETURN(const Worth untouched,
                        WorthOf(config, micro_batch, sets, tasks, ranks, model));
  for (const Intervention& intervention : config.evaluate.interventions) {
    GYRE_ASSIGN_OR_RETURN(const bool stopped, stop());
    if (stopped) return false;
    Worth changed;
    const auto measure = [&]() -> Status {
      GYRE_ASSIGN_OR_RETURN(changed, WorthOf(config, micro_batch, sets, tasks, ranks, model));
      return OkStatus();
    };
    GYRE_RETURN_IF_ERROR(WithIntervention(intervention, config, tokens, model, measure));
    Report(intervention.name, untouched, changed, sets, tasks, point);
  }
  return true;
}

}  // namespace gyre
