#pragma once

// What the end of a job says about its validation sets, each evaluated whole, at the training
// context and at every one of evaluate.contexts:
//   SET/loss, SET/perplexity, SET/bits_per_byte       at data.context
//   SET/loss@C, SET/perplexity@C, SET/bits_per_byte@C, SET/full_windows@C
//                                  at each context C; the windows that really have C tokens
//   SET/loss[@C]/A-B, SET/targets[@C]/A-B             of the places A <= t < B of the windows, for
//                                  the buckets of evaluate.positions; the last ends with the
//                                  context
//   SET/loss[@C]/documents-A-B, SET/targets[@C]/documents-A-B     of documents with A <= tokens <
//   B,
//                                  for those of evaluate.document_lengths; the last is documents-A+
// A bucket without targets has no point. Weighted by their targets, the losses of the buckets make
// the whole loss. And of each of evaluate.tasks what task_evaluation.h lists.

#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/evaluation.h"
#include "trainer/job_data.h"
#include "trainer/model/model.h"
#include "trainer/ranks.h"
#include "trainer/statistics/record.h"
#include "trainer/task_evaluation.h"

namespace gyre {

inline constexpr int64_t kMaxDocumentLosses = 4096;

/// `model` has the weights to evaluate, after `tokens`, and room for micro_batch rows of
/// data.context. Another context C gets a model of its own for forward passes alone, of as many
/// rows as keep within that number of tokens, and at least one; the encoding in force is resolved
/// for C. All ranks get all points. `documents` gets the losses of each set's documents at
/// data.context; of a set of more than kMaxDocumentLosses, of that many groups of neighbours.
Status EvaluateAtTheEnd(const JobConfig& config, int micro_batch, int64_t tokens,
                        const std::vector<ValidationSet>& sets,
                        const std::vector<TaskEvaluation>& tasks, const Ranks& ranks,
                        Backend* backend, Model* model, const PointSink& point,
                        std::vector<DocumentLosses>* documents);

}  // namespace gyre
