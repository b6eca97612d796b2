#pragma once

// Made-up texts with known answers: what a model can do, beside how well it predicts. A row is a
// function of (task, symbols, length, distance, random, index) alone. The distance of an answer is
// how many tokens before it the token stands that says it.
//
//   induction  a block of random symbols, and the same block again: what follows the symbol before
//              is known from the first time (all of the second block but its first symbol). The
//              block is `distance` long; blocks fill the row
//   recall     `keys` pairs of a key and a value, padding, and the keys again in another order,
//   each
//              to be followed by its value
//   passkey    a text of five sentences over and over, somewhere in it "The pass key is 48213.",
//   and
//              at its end "What is the pass key? The pass key is", to be followed by the number
//   copy       `offset` + 1 random symbols and the same again, then new ones: all of each second
//              half, said by the token `offset` before the one that predicts it. Where halves begin
//              is not marked: a model counts
//   self       copy with offset 0: every symbol twice, said by the token that predicts it
//   previous   copy with offset 1: said by the token before
//
// Symbols are ids: with bytes 64 letters, digits and signs, else the whole vocabulary but what
// stands for no text. Only passkey is words, and needs a tokenizer that knows them.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "trainer/config/job_config.h"
#include "trainer/data/tokenizer.h"

namespace gyre {

/// Their names, in the order above.
const std::vector<std::string>& TaskNames();
/// Whether its distance can be chosen: not that of copy, self and previous.
bool HasDistance(std::string_view task);

struct TaskAnswer {
  int first = 0, count = 1;  // ids of the row
  int distance = 0;
};

struct TaskRow {
  std::vector<int32_t> ids;  // without a document start
  std::vector<TaskAnswer> answers;
};

class TaskMaker {
 public:
  /// INVALID_ARGUMENT: no such task, or the tokenizer has too few symbols or no words for it.
  static Result<TaskMaker> Create(const TaskConfig& task, Tokenizer* tokenizer);

  /// In a row of so many ids; there is no room at all where the largest is below the smallest.
  int SmallestDistance() const;
  int LargestDistance(int length) const;
  /// `distance` is between these two; of recall, it is the mean of its answers' distances.
  TaskRow Make(int length, int distance, const Random& random, uint64_t index) const;

 private:
  // The random values of one row, one after the other.
  struct Draws {
    const Random& random;
    uint64_t row;
    uint64_t next = 0;
    int Below(size_t n) { return static_cast<int>(random.Below(n, row, next++)); }
  };

  explicit TaskMaker(const TaskConfig& task) : task_(task) {}
  Status SetWords(Tokenizer* tokenizer);
  int Offset() const;
  // Random symbols, none of them again before all others have been there.
  std::vector<int32_t> Symbols(int count, Draws* draws) const;
  TaskRow Induction(int length, int distance, Draws* draws) const;
  TaskRow Recall(int length, int distance, Draws* draws) const;
  TaskRow Passkey(int length, int distance, Draws* draws) const;
  TaskRow Copy(int length, Draws* draws) const;

  TaskConfig task_;
  std::vector<int32_t> symbols_;
  // Of passkey: the text around, and each of the keys there are in its sentence and at the end.
  std::vector<int32_t> filler_, question_;
  struct Key {
    std::vector<int32_t> sentence;
    int first = 0, count = 0;  // of the key in it
  };
  std::vector<Key> keys_;
  int most_sentence_ = 0, most_key_ = 0;  // ids
};

}  // namespace gyre
