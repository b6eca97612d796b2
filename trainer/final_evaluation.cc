#include "trainer/final_evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/log.h"
#include "trainer/position/rotation.h"

namespace gyre {
namespace {

class FinalEvaluation {
 public:
  FinalEvaluation(const JobConfig& config, int micro_batch, int64_t tokens,
                  const std::vector<TaskEvaluation>& tasks, const Ranks& ranks, Backend* backend,
                  Model* trained, const PointSink& point, std::vector<DocumentLosses>* documents)
      : config_(config),
        micro_batch_(micro_batch),
        tokens_(tokens),
        tasks_(tasks),
        ranks_(ranks),
        backend_(backend),
        trained_(trained),
        point_(point),
        documents_(documents) {}

  Status AtTrainingContext(const std::vector<ValidationSet>& sets) {
    const int context = config_.data.context;
    const auto& contexts = config_.evaluate.contexts;
    const bool named = std::find(contexts.begin(), contexts.end(), context) != contexts.end();
    for (const ValidationSet& set : sets) {
      const int64_t groups = std::min(set.windows->documents(), kMaxDocumentLosses);
      GYRE_ASSIGN_OR_RETURN(const Losses losses,
                            Evaluate(*set.windows, micro_batch_, trained_, groups));
      Report(set, losses, context, "");
      DocumentLosses& documents = documents_->emplace_back(DocumentLosses{set.name, {}, {}});
      for (const LossSum& group : losses.buckets.groups) {
        documents.targets.push_back(group.targets);
        documents.nats.push_back(group.nats);
      }
      if (named) ReportContext(set, *set.windows, losses, context);
    }
    for (const TaskEvaluation& task : tasks_) {
      GYRE_ASSIGN_OR_RETURN(const TaskScore score,
                            task.Evaluate(context, micro_batch_, ranks_, trained_));
      task.Report(score, context, "", point_);
      if (named) task.Report(score, context, "@" + std::to_string(context), point_);
    }
    return OkStatus();
  }

  Status At(int context, const std::vector<ValidationSet>& sets) {
    const int rows = std::max(micro_batch_ * config_.data.context / context, 1);
    GYRE_ASSIGN_OR_RETURN(const auto model, ModelFor(context, rows));
    for (const ValidationSet& set : sets) {
      GYRE_ASSIGN_OR_RETURN(const Windows windows, Windows::Create(set.dataset.get(), context));
      GYRE_ASSIGN_OR_RETURN(const Losses losses, Evaluate(windows, rows, model.get(), 0));
      ReportContext(set, windows, losses, context);
    }
    for (const TaskEvaluation& task : tasks_) {
      GYRE_ASSIGN_OR_RETURN(const TaskScore score,
                            task.Evaluate(context, rows, ranks_, model.get()));
      task.Report(score, context, "@" + std::to_string(context), point_);
    }
    return OkStatus();
  }

 private:
  struct Losses {
    LossSum whole;
    LossBuckets buckets;
  };

  Result<Losses> Evaluate(const Windows& windows, int rows, Model* model, int64_t groups) const {
    Losses losses{{}, {config_.evaluate.positions, config_.evaluate.document_lengths, groups}};
    GYRE_ASSIGN_OR_RETURN(
        losses.whole, EvaluateLoss(windows, windows.count(), rows, model, &losses.buckets, ranks_));
    return losses;
  }

  Result<std::unique_ptr<Model>> ModelFor(int context, int rows) const {
    GYRE_ASSIGN_OR_RETURN(
        auto positions,
        ResolvePositions(PositionInForce(config_.position, tokens_), config_.model, context));
    GYRE_ASSIGN_OR_RETURN(auto model, Model::Create(config_.model, std::move(positions), backend_,
                                                    rows, context, /*training=*/false));
    std::vector<float> values;
    for (const Tensor& tensor : trained_->parameters()) {
      int64_t count = 1;
      for (const int64_t size : tensor.shape) count *= size;
      values.resize(static_cast<size_t>(count));
      GYRE_RETURN_IF_ERROR(trained_->Save(TensorKind::kWeight, tensor.name, values));
      GYRE_RETURN_IF_ERROR(model->Load(TensorKind::kWeight, tensor.name, values));
    }
    return model;
  }

  void ReportContext(const ValidationSet& set, const Windows& windows, const Losses& losses,
                     int context) const {
    const std::string at = "@" + std::to_string(context);
    Report(set, losses, context, at);
    point_(set.name + "/full_windows" + at, static_cast<double>(windows.full()));
    if (windows.full() > 0 || !ranks_.speaks()) return;
    LogWarning("the validation set " + set.name + " has no document of " + std::to_string(context) +
               " tokens (the longest has " + std::to_string(windows.longest_document()) +
               "): its values " + at + " are of shorter windows");
  }

  void Report(const ValidationSet& set, const Losses& losses, int context,
              const std::string& at) const {
    const double loss = losses.whole.mean();
    point_(set.name + "/loss" + at, loss);
    point_(set.name + "/perplexity" + at, std::exp(loss));
    const auto bytes = static_cast<double>(set.dataset->info().bytes);
    if (bytes > 0) {
      point_(set.name + "/bits_per_byte" + at, losses.whole.nats / std::numbers::ln2 / bytes);
    }
    const LossBuckets& buckets = losses.buckets;
    for (size_t i = 0; i < buckets.by_position.size(); ++i) {
      const auto& edges = buckets.position_edges;
      const int end = i + 1 < edges.size() ? std::min(edges[i + 1], context) : context;
      ReportBucket(set, at, std::to_string(edges[i]) + "-" + std::to_string(end),
                   buckets.by_position[i]);
    }
    for (size_t i = 0; i < buckets.by_document.size(); ++i) {
      const auto& edges = buckets.document_edges;
      const std::string end = i + 1 < edges.size() ? "-" + std::to_string(edges[i + 1]) : "+";
      ReportBucket(set, at, "documents-" + std::to_string(edges[i]) + end, buckets.by_document[i]);
    }
  }

  void ReportBucket(const ValidationSet& set, const std::string& at, const std::string& name,
                    const LossSum& sum) const {
    if (sum.targets == 0) return;
    point_(set.name + "/loss" + at + "/" + name, sum.mean());
    point_(set.name + "/targets" + at + "/" + name, static_cast<double>(sum.targets));
  }

  const JobConfig& config_;
  const int micro_batch_;
  const int64_t tokens_;
  const std::vector<TaskEvaluation>& tasks_;
  const Ranks ranks_;
  Backend* const backend_;
  Model* const trained_;
  const PointSink& point_;
  std::vector<DocumentLosses>* const documents_;
};

}  // namespace

Status EvaluateAtTheEnd(const JobConfig& config, int micro_batch, int64_t tokens,
                        const std::vector<ValidationSet>& sets,
                        const std::vector<TaskEvaluation>& tasks, const Ranks& ranks,
                        Backend* backend, Model* model, const PointSink& point,
                        std::vector<DocumentLosses>* documents) {
  FinalEvaluation evaluation(config, micro_batch, tokens, tasks, ranks, backend, model, point,
                             documents);
  GYRE_RETURN_IF_ERROR(evaluation.AtTrainingContext(sets));
  for (const int context : config.evaluate.contexts) {
    if (context == config.data.context) continue;
    GYRE_RETURN_IF_ERROR(evaluation.At(context, sets));
  }
  return OkStatus();
}

}  // namespace gyre
