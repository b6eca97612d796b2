#pragma once

// What statistics say at one step of a job, and their JSON: what the trainer tells the worker, what
// the wire carries and what the store takes apart. Definitions: docs/statistics.md. Base and
// nlohmann-json alone, so that all of them may include it. Pure.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

/// Mean 2-norms of the pairs of one head's queries ("q"), keys ("k") or values ("v"), before the
/// rotation; pair k of every list is pair k of the layer's rotation.
struct FrequencyNorms {
  int layer = 0;
  std::string tensor;
  int head = 0;                             // a key/value head for k and v
  std::vector<double> norms;                // over all tokens
  std::vector<double> norms_without_first;  // over all but the first of each window
};

/// Mean |c_k(i, j)|, the part of pair k in the logit of query i and key j, over all i and j that
/// the attention allows.
struct LogitShares {
  int layer = 0, head = 0;
  std::vector<double> contributions;
  /// The parts of that mean that come from the first key and from the others: they add up to it.
  std::vector<double> first, others;
};

/// Means over all queries of one head's attention.
struct HeadScores {
  int layer = 0, head = 0;
  double diagonal = 0;  // weight on the token itself
  double previous = 0;  // on the one before it
  double first = 0;     // on the first
  double entropy = 0;   // nats
  double distance = 0;  // tokens
};

/// Norms of the first tokens of one window, one by one.
struct TokenNorms {
  int layer = 0;
  std::string tensor;
  int head = 0;
  std::vector<std::vector<double>> norms;  // [token][pair]
};

/// Attention among the first tokens of that window.
struct AttentionMap {
  int layer = 0, head = 0;
  std::vector<std::vector<double>> weights;  // [query][key], 0 behind the diagonal
};

/// The losses of a validation set's documents, or of groups of neighbouring ones, in the set's
/// order: their targets, and the sum over them in nats.
struct DocumentLosses {
  std::string set;
  std::vector<int64_t> targets;
  std::vector<double> nats;
};

struct StatisticsRecord {
  int64_t step = 0, tokens = 0;
  std::vector<FrequencyNorms> frequency_norms;
  std::vector<LogitShares> logit_shares;
  std::vector<HeadScores> head_scores;
  std::vector<TokenNorms> token_norms;
  std::vector<AttentionMap> attention_maps;
  std::vector<DocumentLosses> document_losses;
};

/// {"step", "tokens", "frequency_norms": [{"layer", "tensor", "head", "norms",
/// "norms_without_first"}], ...}: the names above; what is empty is absent. Measured numbers have 7
/// significant digits, and one that is not finite is null.
nlohmann::ordered_json ToJson(const StatisticsRecord& record);

/// null is NaN. INVALID_ARGUMENT with the path of what is missing, unknown, of the wrong type or of
/// another length than what it belongs to.
Result<StatisticsRecord> StatisticsRecordFromJson(const nlohmann::ordered_json& json);

}  // namespace gyre
