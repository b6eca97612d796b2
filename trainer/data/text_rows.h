#pragma once

// The rows of one text in the order of training: row n is a pure function of (data set, context,
// packing, seed, n). Nothing is drawn and no position is kept.
//
// The order. In each epoch the documents are put in a new random order; end to end they are the
// epoch's stream of targets, and the epochs' streams end to end are one endless stream. It is cut
// into rows of exactly `context` targets; the rows that begin within an epoch are taken in a random
// order of their own (a batch of neighbours in one long chapter would be a poor sample), those of
// an earlier epoch first. So every token of an epoch is a target exactly once, in the row that
// covers its place; a row over the end of an epoch belongs to that epoch and goes on into the next.
//
// The input at a place is the token before its target, but a row begins with a document start, as
// evaluation windows do (windows.h): a model that never saw a row begin so would be evaluated on
// something else than it was trained on, and encodings suffer from that unequally. Packing
// `documents`: document starts are no targets, each document in a row begins with one as its input,
// and attention stays within a document. `stream`: document starts are targets like all tokens, and
// attention does not stop at them.
//
// A row costs O(log documents); entering an epoch costs O(documents) time and 8 bytes a document.
// One thread drives a TextRows.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "trainer/data/dataset.h"

namespace gyre {

class TextRows {
 public:
  /// `dataset` outlives the object. INVALID_ARGUMENT: no text.
  static Result<TextRows> Create(const Dataset* dataset, int context, bool masked, uint64_t seed);

  /// The place `index` of the order, into spans of `context` numbers; `starts` is empty unless
  /// masked. DATA_LOSS: the data set has a token outside its vocabulary.
  Status Fill(int64_t index, std::span<int32_t> tokens, std::span<int32_t> targets,
              std::span<int32_t> starts);

 private:
  // The documents of one epoch in their order: the k-th has the targets ends[k-1] .. ends[k]-1 of
  // the epoch's stream.
  struct Epoch {
    int64_t number = -1;
    std::vector<int64_t> ends;
  };
  // The document that covers a place of the endless stream.
  struct Place {
    int64_t begin = 0, end = 0;  // of the document, in the endless stream
    int64_t source = 0;          // its first target, in the data set
  };

  TextRows(const Dataset* dataset, int context, bool masked, uint64_t seed);
  const Epoch& EpochOf(int64_t number);
  Place Find(int64_t position);
  int64_t RowAt(int64_t index) const;

  const Dataset* dataset_;
  int context_;
  bool masked_;
  int64_t epoch_length_;  // targets
  int32_t document_start_ = 0;
  Random documents_, rows_;
  std::array<Epoch, 2> epochs_;  // by parity: a row at an epoch's end looks into the next
};

}  // namespace gyre
