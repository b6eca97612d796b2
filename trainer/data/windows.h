#pragma once

// The windows in which a validation set is evaluated: each document's text is cut into pieces of
// `context` tokens; a window predicts one piece, from a document start followed by the piece
// without its last token. So windows do not overlap, documents are not mixed, and every token of
// the text is predicted exactly once. The last piece of a document may be short. Fixed: nothing is
// drawn. Immutable.

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "trainer/data/dataset.h"
#include "trainer/model/batch.h"

namespace gyre {

class Windows {
 public:
  /// `dataset` outlives the object. INVALID_ARGUMENT: the set has no text, or context < 1.
  static Result<Windows> Create(const Dataset* dataset, int context);

  int64_t count() const { return first_window_.back(); }
  /// Of the whole set: every token but the document starts.
  int64_t targets() const { return dataset_->tokens() - dataset_->info().documents; }
  /// Number of evenly spaced windows that hold about `tokens` targets: 1 .. count().
  int64_t SampleCount(int64_t tokens) const;

  /// How many hold `context` targets; the others are the short ends of documents.
  int64_t full() const { return full_; }
  /// Tokens of the longest document, without its start.
  int64_t longest_document() const { return longest_document_; }
  /// Tokens, without its start, of the document that window i of `sample` evenly spaced ones lies
  /// in.
  int64_t DocumentLength(int64_t sample, int64_t i) const;

  /// What statistics are computed from, in the order of the set: `most` evenly spaced ones of the
  /// full windows; where fewer are full, the longest windows, of equally long ones the first.
  std::vector<int64_t> ForStatistics(int64_t most) const;
  /// Tokens of a window, 1 .. context.
  int LengthOf(int64_t window) const { return PieceOf(window).length; }

  /// Documents of the set, also those without text.
  int64_t documents() const { return static_cast<int64_t>(first_window_.size()) - 1; }
  /// The one that window i of `sample` evenly spaced ones lies in.
  int64_t DocumentOf(int64_t sample, int64_t i) const;

  /// Rows first .. first + rows-1 of `sample` evenly spaced windows (sample = count() is all of
  /// them) as one batch, as long as the longest of them. DATA_LOSS: a token outside the vocabulary.
  Status Fill(int64_t sample, int64_t first, int rows, Batch* batch) const;
  /// These windows as the rows of one batch.
  Status Fill(std::span<const int64_t> windows, Batch* batch) const;

 private:
  struct Piece {
    int64_t start = 0;  // in the data set
    int length = 0;
  };
  // Of one document: its text, without its start.
  struct Text {
    int64_t start = 0, end = 0;  // in the data set
  };
  Windows(const Dataset* dataset, int context) : dataset_(dataset), context_(context) {}
  size_t DocumentWith(int64_t window) const;
  Text TextOf(size_t document) const;
  Piece PieceOf(int64_t window) const;
  int64_t WindowAt(int64_t sample, int64_t i) const;

  const Dataset* dataset_;
  int context_;
  std::vector<int64_t> first_window_;  // of each document, and their number at the end
  int64_t full_ = 0, longest_document_ = 0;
};

}  // namespace gyre
