#pragma once

// The training batches of a job: the batch of step s is a pure function of (data sets, weights,
// context, packing, batch size, seed, s), so that a resumed job goes on with the batch that it
// would have seen, and the variants of one seed see the same batches. Nothing is drawn and no
// position is kept.
//
// Each text has rows in an endless order of its own (text_rows.h). The batches of a job with one
// text are those rows: batch s is the rows (s-1)*n .. s*n - 1, whoever computes them: ranks share a
// batch's rows out. With several texts, each row of that count comes from the text that its number
// says (text_shares.h), which goes on in its own order there: so a text is gone through epoch by
// epoch, as often as its share of the rows asks for.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/dataset.h"
#include "trainer/data/text_rows.h"
#include "trainer/data/text_shares.h"
#include "trainer/model/batch.h"

namespace gyre {

struct WeightedText {
  const Dataset* dataset;
  double weight = 1;
};

class Batches {
 public:
  /// The data sets outlive the object. INVALID_ARGUMENT: sizes that don't fit together, or no text.
  static Result<Batches> Create(const std::vector<WeightedText>& texts, int context,
                                const std::string& packing, int64_t batch_tokens, uint64_t seed);

  int rows_per_step() const { return rows_per_step_; }
  /// Rows first_row .. first_row + rows-1 of the batch of `step` (from 1). Reuses the batch's
  /// memory. DATA_LOSS: a data set has a token outside its vocabulary.
  Status Fill(int64_t step, int first_row, int rows, Batch* batch);

 private:
  Batches(TextShares shares, int context, bool masked, int rows_per_step)
      : shares_(std::move(shares)),
        context_(context),
        masked_(masked),
        rows_per_step_(rows_per_step) {}

  TextShares shares_;
  std::vector<TextRows> texts_;
  int context_;
  bool masked_;
  int rows_per_step_;
};

}  // namespace gyre
