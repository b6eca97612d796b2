#pragma once

// The loss of a model on windows of a validation set, whole and by bucket.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/windows.h"
#include "trainer/model/model.h"
#include "trainer/ranks.h"

namespace gyre {

/// Where what an evaluation finds goes.
using PointSink = std::function<void(const std::string& metric, double value)>;

struct LossSum {
  double nats = 0;
  int64_t targets = 0;
  double mean() const { return nats / static_cast<double>(targets); }
};

/// What the losses of single targets are sorted by. Edges ascend from 0; bucket i goes from edge i
/// to the one before edge i + 1, the last one on without end. Without edges there are no buckets.
/// The set's documents, n of them, fall into `groups` of neighbours: document d into d groups / n.
struct LossBuckets {
  LossBuckets(std::vector<int> position_edges, std::vector<int> document_edges, int64_t groups = 0)
      : position_edges(std::move(position_edges)),
        document_edges(std::move(document_edges)),
        by_position(this->position_edges.size()),
        by_document(this->document_edges.size()),
        groups(static_cast<size_t>(groups)) {}

  std::vector<int> position_edges;   // places in the window: the text known before the target
  std::vector<int> document_edges;   // tokens of the target's whole document, without its start
  std::vector<LossSum> by_position;  // one an edge
  std::vector<LossSum> by_document;
  std::vector<LossSum> groups;
};

/// Over `sample` evenly spaced windows (windows.count(): over the whole set), `rows` at a time. The
/// sum runs in one order, in double precision; each target also counts in its `buckets`, which may
/// be null. Every rank evaluates its share of the windows and gets the sums of all.
Result<LossSum> EvaluateLoss(const Windows& windows, int64_t sample, int rows, Model* model,
                             LossBuckets* buckets = nullptr, const Ranks& ranks = {});

}  // namespace gyre
