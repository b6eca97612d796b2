#pragma once

// How well a model does made-up tasks (data/task.h, evaluate.tasks), at the end of a job. Of each
// task NAME, in rows of data.context tokens, and of C for each of evaluate.contexts:
//   NAME/accuracy[@C], NAME/loss[@C], NAME/answers[@C]    over all answers: the share whose every
//                                 token is the most likely one, given what is before it; nats a
//                                 token of answers; how many answers
//   NAME/accuracy[@C]/A-B, ...    of the answers with A <= distance < B, for the buckets of its
//                                 distances; the last ends with the context
// A bucket that no row of that context has room for has no point. Rows are a function of the task,
// the tokenizer and the context: every job and every step has the same.

#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/data/dataset.h"
#include "trainer/data/task.h"
#include "trainer/evaluation.h"
#include "trainer/model/model.h"
#include "trainer/ranks.h"

namespace gyre {

struct AnswerSum {
  int64_t answers = 0, right = 0;
  double nats = 0;
  int64_t tokens = 0;

  double accuracy() const { return static_cast<double>(right) / static_cast<double>(answers); }
  double loss() const { return nats / static_cast<double>(tokens); }
};

struct TaskScore {
  AnswerSum whole;
  std::vector<AnswerSum> by_distance;  // one a bucket of the task's distances
};

/// A task's rows in the ids of one tokenizer.
class TaskEvaluation {
 public:
  /// As TaskMaker::Create; `tokenizer` is that of the job's data sets.
  static Result<TaskEvaluation> Create(const TaskConfig& task, Tokenizer* tokenizer);

  /// `rows` at a time of a model that has room for `context` tokens; every rank evaluates its share
  /// and gets the sums of all.
  Result<TaskScore> Evaluate(int context, int rows, const Ranks& ranks, Model* model) const;
  /// See above; `at` is "" or "@C".
  void Report(const TaskScore& score, int context, const std::string& at,
              const PointSink& point) const;
  const TaskConfig& task() const { return task_; }

 private:
  TaskEvaluation(const TaskConfig& task, TaskMaker maker, int32_t document_start)
      : task_(task), maker_(std::move(maker)), document_start_(document_start) {}
  // The distance that each row is made with.
  std::vector<int> Distances(int context) const;
  Status AddUp(int context, int64_t first, const std::vector<int>& distances, Model* model,
               TaskScore* score) const;
  void Count(const TaskAnswer& answer, const AnswerSum& one, TaskScore* score) const;

  TaskConfig task_;
  TaskMaker maker_;
  int32_t document_start_;
};

/// All of a job's tasks, in the tokenizer of one of its data sets. As TaskEvaluation::Create and
/// Dataset::OpenTokenizer have it.
Result<std::vector<TaskEvaluation>> TaskEvaluationsOf(const JobConfig& config,
                                                      const Dataset& dataset);

}  // namespace gyre
