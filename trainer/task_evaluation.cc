#include "trainer/task_evaluation.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/random.h"

namespace gyre {
namespace {

// Of a row with many answers no more are looked at, evenly spread: their distance is the same.
constexpr int kMostAnswers = 32;

std::vector<TaskAnswer> Chosen(const std::vector<TaskAnswer>& answers) {
  const auto all = static_cast<int>(answers.size());
  if (all <= kMostAnswers) return answers;
  std::vector<TaskAnswer> chosen;
  for (int i = 0; i < kMostAnswers; ++i) {
    chosen.push_back(answers[static_cast<size_t>(int64_t{i} * all / kMostAnswers)]);
  }
  return chosen;
}

Status SumOverRanks(const Ranks& ranks, TaskScore* score) {
  std::vector<AnswerSum*> sums = {&score->whole};
  for (AnswerSum& bucket : score->by_distance) sums.push_back(&bucket);
  std::vector<double> values;
  for (const AnswerSum* sum : sums) {
    values.insert(values.end(), {static_cast<double>(sum->answers), static_cast<double>(sum->right),
                                 sum->nats, static_cast<double>(sum->tokens)});
  }
  GYRE_RETURN_IF_ERROR(ranks.Sum(values));
  for (size_t i = 0; i < sums.size(); ++i) {
    const std::span<const double> own(&values[4 * i], 4);
    *sums[i] = {static_cast<int64_t>(own[0]), static_cast<int64_t>(own[1]), own[2],
                static_cast<int64_t>(own[3])};
  }
  return OkStatus();
}

}  // namespace

Result<TaskEvaluation> TaskEvaluation::Create(const TaskConfig& task, Tokenizer* tokenizer) {
  GYRE_ASSIGN_OR_RETURN(TaskMaker maker, TaskMaker::Create(task, tokenizer));
  return TaskEvaluation(task, std::move(maker), tokenizer->document_start());
}

Result<std::vector<TaskEvaluation>> TaskEvaluationsOf(const JobConfig& config,
                                                      const Dataset& dataset) {
  std::vector<TaskEvaluation> evaluations;
  if (config.evaluate.tasks.empty()) return evaluations;
  GYRE_ASSIGN_OR_RETURN(const auto tokenizer, dataset.OpenTokenizer());
  for (const TaskConfig& task : config.evaluate.tasks) {
    GYRE_ASSIGN_OR_RETURN(TaskEvaluation evaluation, TaskEvaluation::Create(task, tokenizer.get()));
    evaluations.push_back(std::move(evaluation));
  }
  return evaluations;
}

std::vector<int> TaskEvaluation::Distances(int context) const {
  const int smallest = maker_.SmallestDistance(), largest = maker_.LargestDistance(context);
  if (largest < smallest) return {};
  if (task_.distances.empty()) {
    return std::vector<int>(static_cast<size_t>(task_.rows), smallest);
  }
  std::vector<int> distances;
  for (size_t bucket = 0; bucket < task_.distances.size(); ++bucket) {
    const int low = std::max(task_.distances[bucket], smallest);
    const int end = bucket + 1 < task_.distances.size() ? task_.distances[bucket + 1] : context;
    const int high = std::min(end - 1, largest);
    for (int64_t row = 0; low <= high && row < task_.rows; ++row) {
      distances.push_back(low + static_cast<int>(row * (high - low + 1) / task_.rows));
    }
  }
  return distances;
}

void TaskEvaluation::Count(const TaskAnswer& answer, const AnswerSum& one, TaskScore* score) const {
  const auto add = [&one](AnswerSum* sum) {
    sum->answers += one.answers;
    sum->right += one.right;
    sum->nats += one.nats;
    sum->tokens += one.tokens;
  };
  add(&score->whole);
  const auto& edges = task_.distances;
  const auto after = std::upper_bound(edges.begin(), edges.end(), answer.distance);
  if (after != edges.begin()) {
    add(&score->by_distance[static_cast<size_t>(after - edges.begin()) - 1]);
  }
}

// The rows number `first` and on, one a distance.
Status TaskEvaluation::AddUp(int context, int64_t first, const std::vector<int>& distances,
                             Model* model, TaskScore* score) const {
  const Random random(0, "task/evaluation");
  Batch batch;
  batch.rows = static_cast<int>(distances.size());
  batch.length = context;
  std::vector<TaskAnswer> answers;
  std::vector<int> places;  // of all tokens of the answers, one answer after the other
  for (size_t i = 0; i < distances.size(); ++i) {
    const TaskRow row = maker_.Make(context, distances[i], random,
                                    static_cast<uint64_t>(first) + static_cast<uint64_t>(i));
    const auto begin = static_cast<int>(batch.targets.size());
    batch.tokens.push_back(document_start_);
    batch.tokens.insert(batch.tokens.end(), row.ids.begin(), row.ids.end() - 1);
    batch.targets.insert(batch.targets.end(), row.ids.begin(), row.ids.end());
    for (const TaskAnswer& answer : Chosen(row.answers)) {
      answers.push_back(answer);
      for (int k = 0; k < answer.count; ++k) places.push_back(begin + answer.first + k);
    }
  }
  GYRE_ASSIGN_OR_RETURN(const std::vector<Prediction> predictions, model->Predict(batch, places));
  auto prediction = predictions.begin();
  for (const TaskAnswer& answer : answers) {
    AnswerSum one{.answers = 1, .right = 1, .tokens = answer.count};
    for (int k = 0; k < answer.count; ++k, ++prediction) {
      one.nats += prediction->nll;
      if (!prediction->right) one.right = 0;
    }
    Count(answer, one, score);
  }
  return OkStatus();
}

Result<TaskScore> TaskEvaluation::Evaluate(int context, int rows, const Ranks& ranks,
                                           Model* model) const {
  TaskScore score{{}, std::vector<AnswerSum>(task_.distances.size())};
  const std::vector<int> distances = Distances(context);
  const Ranks::Share share = ranks.ShareOf(static_cast<int64_t>(distances.size()));
  for (int64_t first = share.begin; first < share.end; first += rows) {
    const auto begin = distances.begin() + first;
    const std::vector<int> now(begin, begin + std::min<int64_t>(rows, share.end - first));
    GYRE_RETURN_IF_ERROR(AddUp(context, first, now, model, &score));
  }
  GYRE_RETURN_IF_ERROR(SumOverRanks(ranks, &score));
  return score;
}

void TaskEvaluation::Report(const TaskScore& score, int context, const std::string& at,
                            const PointSink& point) const {
  const auto report = [&](const AnswerSum& sum, const std::string& bucket) {
    if (sum.answers == 0) return;
    point(task_.name + "/accuracy" + at + bucket, sum.accuracy());
    point(task_.name + "/loss" + at + bucket, sum.loss());
    point(task_.name + "/answers" + at + bucket, static_cast<double>(sum.answers));
  };
  report(score.whole, "");
  const auto& edges = task_.distances;
  for (size_t i = 0; i < edges.size(); ++i) {
    const int end = i + 1 < edges.size() ? std::min(edges[i + 1], context) : context;
    report(score.by_distance[i], "/" + std::to_string(edges[i]) + "-" + std::to_string(end));
  }
}

}  // namespace gyre
