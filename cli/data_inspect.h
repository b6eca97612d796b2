#pragma once

// What a model will see of a text: sizes, lengths of documents, and the first of them as tokens.
// Pure.

#include <string>
#include <vector>

#include "base/status.h"
#include "results/query.h"
#include "trainer/data/dataset.h"

namespace gyre {

struct InspectedPart {
  std::string part;  // "train", "validation", "all"
  const Dataset* dataset;
  Status content;  // what Verify() said
};

/// A property a row, a part a column.
QueryTable DescribeParts(const std::vector<InspectedPart>& parts);

/// The first documents, token by token: "<start>" where a document begins, "|" between tokens, line
/// ends as "\n", other bytes that are no text as "\xNN", ids without text as numbers. With `color`
/// marks are dim.
Result<std::string> ShowDocuments(const Dataset& dataset, const std::string& part, int width,
                                  bool color);

}  // namespace gyre
