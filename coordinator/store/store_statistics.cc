// Statistics as rows.

#include <cmath>
#include <cstdio>

#include "coordinator/store/store.h"

namespace gyre {
namespace {

// As a record has them: 7 significant digits, and null for what is not finite.
void Append(double value, std::string* json) {
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  *json += std::isfinite(value) ? text : "null";
}
void Append(int64_t value, std::string* json) { *json += std::to_string(value); }
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
std::vector<double> SharesOf(const std::vector<double>& parts) {
  double sum = 0;
  for (const double part : parts) sum += part;
  std::vector<double> shares;
  for (const double part : parts) shares.push_back(part / sum);
  return shares;
}

}  // namespace

Status Store::Put(const AttemptRecord& attempt, const StatisticsRecord& statistics) {
  const int64_t job = attempt.job_id, step = statistics.step, tokens = statistics.tokens;
  for (const FrequencyNorms& row : statistics.frequency_norms) {
    GYRE_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO frequency_norms (job_id, step, tokens, attempt, layer, tensor, "
            "head, norms, norms_without_first) VALUES (?,?,?,?,?,?,?,?,?)",
            job, step, tokens, attempt.number, row.layer, row.tensor, row.head, JsonOf(row.norms),
            JsonOf(row.norms_without_first)));
  }
  for (const LogitShares& row : statistics.logit_shares) {
    GYRE_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO logit_shares (job_id, step, tokens, attempt, layer, head, "
            "contributions, shares, first, others) VALUES (?,?,?,?,?,?,?,?,?,?)",
            job, step, tokens, attempt.number, row.layer, row.head, JsonOf(row.contributions),
            JsonOf(SharesOf(row.contributions)), JsonOf(row.first), JsonOf(row.others)));
  }
  for (const HeadScores& row : statistics.head_scores) {
    GYRE_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO head_scores (job_id, step, tokens, attempt, layer, head, "
            "diagonal, previous, first, entropy, distance) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            job, step, tokens, attempt.number, row.layer, row.head, row.diagonal, row.previous,
            row.first, row.entropy, row.distance));
  }
  for (const TokenNorms& row : statistics.token_norms) {
    GYRE_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO token_norms (job_id, step, tokens, attempt, layer, tensor, "
            "head, norms) VALUES (?,?,?,?,?,?,?,?)",
            job, step, tokens, attempt.number, row.layer, row.tensor, row.head, JsonOf(row.norms)));
  }
  for (const AttentionMap& row : statistics.attention_maps) {
    GYRE_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO attention_maps (job_id, step, tokens, attempt, layer, head, "
            "weights) VALUES (?,?,?,?,?,?,?)",
            job, step, tokens, attempt.number, row.layer, row.head, JsonOf(row.weights)));
  }
  for (const DocumentLosses& row : statistics.document_losses) {
    GYRE_RETURN_IF_ERROR(
        Run("INSERT OR REPLACE INTO document_losses (job_id, step, tokens, attempt, "
            "validation_set, targets, nats) VALUES (?,?,?,?,?,?,?)",
            job, step, tokens, attempt.number, row.set, JsonOf(row.targets), JsonOf(row.nats)));
  }
  return OkStatus();
}

}  // namespace gyre
