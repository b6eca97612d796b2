#pragma once

// Where a head's logits come from, pair by pair and with the sign: what each supplies to the logit
// of the first token, of the query's own, of the one before, and of all others. Norms only bound
// this, and means of absolute values hide that what all keys have alike changes nothing. Pure.

#include <string>
#include <vector>

#include "trainer/config/job_config.h"
#include "trainer/model/attention_sums.h"
#include "trainer/position/rotation.h"

namespace gyre {

/// Which key a logit is of; from the third token on these are four keys.
enum class KeyKind { kFirst, kOwn, kPrevious, kOthers };
inline constexpr int kKeyKinds = 4;
inline constexpr const char* kKeyKindNames[kKeyKinds] = {"first", "own", "previous", "others"};

struct LogitParts {
  int layer = 0, head = 0, tokens = 0;  // of so many first tokens
  /// By KeyKind and pair, as logits are scaled (without ALiBi, before a softcap): the mean over
  /// all queries but the first two, and over the others of each. NaN where there are none.
  std::vector<double> means[kKeyKinds];

  /// By how much the pair tells keys apart: the largest of its four means less the smallest.
  double Spread(size_t pair) const;
};

/// Of the keys that a query sees.
LogitParts LogitPartsOf(int layer, int head, const AttentionTrace& trace, const ModelConfig& model,
                        const LayerPosition& position);

}  // namespace gyre
