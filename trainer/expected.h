#pragma once

// expected.json of a folder in the format of tests/trainer/reference/README.md, sections 3 to 7:
// what somebody else computed for a model. Every part may be missing; what is there has the right
// types and sizes.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "trainer/model/batch.h"

namespace gyre {

struct ExpectedTensor {
  std::optional<double> norm, sum;
  std::vector<int64_t> index;  // flat places, and the values there
  std::vector<double> value;
};

struct ExpectedPosition {
  std::optional<std::vector<std::vector<double>>> inv_freq;  // [layer][d/2]
  std::optional<std::vector<double>> attention_factor;       // [layer]
  std::optional<std::vector<std::pair<int, int>>> pairs;     // [d/2]
  std::optional<std::vector<double>> alibi_slopes;           // [H], or empty
};

struct ExpectedLogits {
  int row = 0, place = 0;
  std::vector<double> values;
};

struct ExpectedGradient {
  std::optional<double> total_norm;
  std::map<std::string, ExpectedTensor> params;
};

struct ExpectedAccumulation {
  std::vector<std::vector<int>> micro_batches;
  std::optional<std::vector<int64_t>> target_counts;
  std::optional<std::vector<double>> nll_sums;
  std::optional<double> loss, gradient_total_norm, wrong_loss, wrong_gradient_total_norm;
};

struct ExpectedAdamW {
  double lr = 0, beta1 = 0, beta2 = 0, eps = 0, weight_decay = 0, clip = 0;
  int steps = 0;
  std::optional<std::vector<double>> loss;       // before each step, and after the last
  std::optional<std::vector<double>> grad_norm;  // before clipping
  std::map<std::string, ExpectedTensor> params;  // after the last step
};

/// By the format's names of the quantities.
struct ExpectedStatistics {
  using Rows = std::vector<std::vector<double>>;
  std::map<std::string, std::vector<Rows>>
      frequency;  // q, k_without_first, ...: [layer][head][d/2]
  int contribution_layer = 0;
  std::map<std::string, Rows> contribution;  // mean_abs, share: [H][d/2]
  std::map<std::string, Rows> heads;         // diag, prev, ...: [layer][H]
};

struct Expected {
  std::optional<Batch> batch;  // targets may be empty
  std::optional<ExpectedPosition> position;
  std::optional<double> loss;
  std::optional<int64_t> target_count;
  std::optional<std::vector<std::vector<double>>> nll;  // [B][T]
  std::optional<std::vector<ExpectedLogits>> logits;
  std::optional<std::vector<double>> residual_norm;
  std::optional<ExpectedGradient> gradient;
  std::optional<ExpectedAccumulation> accumulation;
  std::optional<ExpectedAdamW> adamw;
  ExpectedStatistics statistics;
  std::vector<std::string> unknown;  // parts that the format doesn't have
};

/// NOT_FOUND; INVALID_ARGUMENT with the path of what is malformed.
Result<Expected> ReadExpected(const std::filesystem::path& file);

}  // namespace gyre
