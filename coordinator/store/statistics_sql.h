#pragma once

// Statistics as rows: of a job, or of a pretrained model.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/statistics/record.h"

namespace gyre {

/// Whose they are: one of job and model; of a job, the attempt that reported them.
struct StatisticsOwner {
  std::optional<int64_t> job, model;
  std::optional<int> attempt;
};

namespace statistics_rows {

// As a record has them: 7 significant digits, and null for what is not finite.
inline void Append(double value, std::string* json) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  *json += std::isfinite(value) ? text : "null";
}
inline void Append(int64_t value, std::string* json) { *json += std::to_string(value); }
template <typename T>
void Append(const std::vector<T>& values, std::string* json) {
  *json += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) *json += ", ";
    Append(values[i], json);
  }
  *json += ']';
}
template <typename T>
std::string JsonOf(const std::vector<T>& values) {
  std::string json;
  Append(values, &json);
  return json;
}

// Nothing has a share of nothing: NaN.
inline std::vector<double> SharesOf(const std::vector<double>& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  std::vector<double> shares;
  for (const double part : parts) shares.push_back(part / sum);
  return shares;
}

}  // namespace statistics_rows

/// Row by row; a row that is there already is replaced. `run(sql, values...)` runs one statement,
/// whose text is a literal.
template <typename Run>
Status PutStatistics(const StatisticsOwner& owner, const StatisticsRecord& statistics,
                     const Run& run) {
  const int64_t step = statistics.step, tokens = statistics.tokens;
  for (const FrequencyNorms& row : statistics.frequency_norms) {
    GYRE_RETURN_IF_ERROR(
        run("INSERT OR REPLACE INTO frequency_norms (job_id, model_id, step, tokens, attempt, "
            "layer, tensor, head, norms, norms_without_first) VALUES (?,?,?,?,?,?,?,?,?,?)",
            owner.job, owner.model, step, tokens, owner.attempt, row.layer, row.tensor, row.head,
            statistics_rows::JsonOf(row.norms), statistics_rows::JsonOf(row.norms_without_first)));
  }
  for (const LogitShares& row : statistics.logit_shares) {
    GYRE_RETURN_IF_ERROR(
        run("INSERT OR REPLACE INTO logit_shares (job_id, model_id, step, tokens, attempt, layer, "
            "head, contributions, shares, first, others) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            owner.job, owner.model, step, tokens, owner.attempt, row.layer, row.head,
            statistics_rows::JsonOf(row.contributions),
            statistics_rows::JsonOf(statistics_rows::SharesOf(row.contributions)),
            statistics_rows::JsonOf(row.first), statistics_rows::JsonOf(row.others)));
  }
  for (const HeadScores& row : statistics.head_scores) {
    GYRE_RETURN_IF_ERROR(
        run("INSERT OR REPLACE INTO head_scores (job_id, model_id, step, tokens, attempt, layer, "
            "head, diagonal, previous, first, entropy, distance) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
            owner.job, owner.model, step, tokens, owner.attempt, row.layer, row.head, row.diagonal,
            row.previous, row.first, row.entropy, row.distance));
  }
  for (const TokenNorms& row : statistics.token_norms) {
    GYRE_RETURN_IF_ERROR(
        run("INSERT OR REPLACE INTO token_norms (job_id, model_id, step, tokens, attempt, layer, "
            "tensor, head, norms) VALUES (?,?,?,?,?,?,?,?,?)",
            owner.job, owner.model, step, tokens, owner.attempt, row.layer, row.tensor, row.head,
            statistics_rows::JsonOf(row.norms)));
  }
  for (const AttentionMap& row : statistics.attention_maps) {
    GYRE_RETURN_IF_ERROR(
        run("INSERT OR REPLACE INTO attention_maps (job_id, model_id, step, tokens, attempt, "
            "layer, head, weights) VALUES (?,?,?,?,?,?,?,?)",
            owner.job, owner.model, step, tokens, owner.attempt, row.layer, row.head,
            statistics_rows::JsonOf(row.weights)));
  }
  for (const DocumentLosses& row : statistics.document_losses) {
    GYRE_RETURN_IF_ERROR(
        run("INSERT OR REPLACE INTO document_losses (job_id, model_id, step, tokens, attempt, "
            "validation_set, targets, nats) VALUES (?,?,?,?,?,?,?,?)",
            owner.job, owner.model, step, tokens, owner.attempt, row.set,
            statistics_rows::JsonOf(row.targets), statistics_rows::JsonOf(row.nats)));
  }
  return OkStatus();
}

}  // namespace gyre
