#include "trainer/data/task.h"

#include <algorithm>
#include <numeric>

namespace gyre {
namespace {

constexpr char kPasskeyTask[] = "passkey";
constexpr char kRecallTask[] = "recall";
constexpr char kInductionTask[] = "induction";
constexpr char kCopyTask[] = "copy";

constexpr std::string_view kByteSymbols =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr char kFiller[] =
    "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again. ";
constexpr char kSentence[] = "The pass key is";
constexpr char kQuestion[] = "What is the pass key? The pass key is";
constexpr int kPasskeys = 4096;
constexpr uint64_t kSmallestPasskey = 10000, kLargestPasskey = 99999;

std::vector<int32_t> Encode(Tokenizer* tokenizer, const std::string& text) {
  std::vector<int32_t> ids;
  tokenizer->Encode(text, /*last=*/true, &ids);
  return ids;
}

int SharedBeginning(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return static_cast<int>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

}  // namespace

const std::vector<std::string>& TaskNames() {
  static const std::vector<std::string> names = {kInductionTask, kRecallTask, kPasskeyTask,
                                                 kCopyTask,      "self",      "previous"};
  return names;
}

bool HasDistance(std::string_view task) {
  return task == kInductionTask || task == kRecallTask || task == kPasskeyTask;
}

Result<TaskMaker> TaskMaker::Create(const TaskConfig& task, Tokenizer* tokenizer) {
  const auto& names = TaskNames();
  if (std::find(names.begin(), names.end(), task.task) == names.end()) {
    return InvalidArgument("there is no task '" + task.task + "'");
  }
  TaskMaker maker(task);
  if (task.task == kPasskeyTask) {
    GYRE_RETURN_IF_ERROR(maker.SetWords(tokenizer));
    return maker;
  }
  if (tokenizer->identity() == "bytes") {
    for (const char c : kByteSymbols) maker.symbols_.push_back(static_cast<unsigned char>(c));
  } else {
    for (int32_t id = 0; id < tokenizer->vocab_size(); ++id) {
      const bool stands_for_text = !tokenizer->has_bytes() || !tokenizer->BytesOf(id).empty();
      if (id != tokenizer->document_start() && stands_for_text) maker.symbols_.push_back(id);
    }
  }
  // A padding, keys and as many values.
  const int least = task.task == kRecallTask ? 2 * task.keys + 1 : 2;
  if (static_cast<int>(maker.symbols_.size()) < least) {
    return InvalidArgument("the task " + task.name + " needs a vocabulary of at least " +
                           std::to_string(least) + " symbols, and there are " +
                           std::to_string(maker.symbols_.size()));
  }
  return maker;
}

// Whether a space belongs to the number or to what stands before it, the tokenizer decides: the key
// is what the sentence has beyond its beginning.
Status TaskMaker::SetWords(Tokenizer* tokenizer) {
  if (!tokenizer->has_bytes()) {
    return InvalidArgument("the task passkey is made of words, and the tokenizer " +
                           tokenizer->identity() + " knows ids alone");
  }
  filler_ = Encode(tokenizer, kFiller);
  question_ = Encode(tokenizer, kQuestion);
  const std::vector<int32_t> beginning = Encode(tokenizer, kSentence);
  const Random random(0, "task/passkeys");
  for (uint64_t i = 0; i < kPasskeys; ++i) {
    const uint64_t number =
        kSmallestPasskey + random.Below(kLargestPasskey - kSmallestPasskey + 1, 0, i);
    const std::string said = kSentence + (" " + std::to_string(number));
    Key key;
    key.sentence = Encode(tokenizer, said);
    key.first = SharedBeginning(beginning, key.sentence);
    key.count = static_cast<int>(key.sentence.size()) - key.first;
    const auto rest = Encode(tokenizer, ". ");
    key.sentence.insert(key.sentence.end(), rest.begin(), rest.end());
    most_sentence_ = std::max(most_sentence_, static_cast<int>(key.sentence.size()));
    most_key_ = std::max(most_key_, static_cast<int>(key.sentence.size()) - key.first);
    keys_.push_back(std::move(key));
  }
  // The number after the question may share less with it than the sentence's beginning does.
  const int shared =
      SharedBeginning(question_, Encode(tokenizer, kQuestion + std::string(" 10000")));
  question_.resize(static_cast<size_t>(shared));
  return OkStatus();
}

int TaskMaker::Offset() const {
  return task_.task == kCopyTask ? task_.offset : task_.task == "previous" ? 1 : 0;
}

int TaskMaker::SmallestDistance() const {
  if (task_.task == kInductionTask) return 2;
  if (task_.task == kRecallTask) return 2 * task_.keys;
  if (task_.task == kPasskeyTask) return most_key_ + static_cast<int>(question_.size());
  return Offset() + 1;
}

int TaskMaker::LargestDistance(int length) const {
  if (task_.task == kInductionTask) return length - 2;
  if (task_.task == kRecallTask) return length - 2 * task_.keys;
  if (task_.task == kPasskeyTask) return length - most_sentence_ - most_key_;
  return length >= 2 * (Offset() + 1) ? Offset() + 1 : 0;
}

TaskRow TaskMaker::Make(int length, int distance, const Random& random, uint64_t index) const {
  Draws draws{random, index};
  if (task_.task == kInductionTask) return Induction(length, distance, &draws);
  if (task_.task == kRecallTask) return Recall(length, distance, &draws);
  if (task_.task == kPasskeyTask) return Passkey(length, distance, &draws);
  return Copy(length, &draws);
}

std::vector<int32_t> TaskMaker::Symbols(int count, Draws* draws) const {
  std::vector<int32_t> ids;
  const size_t all = symbols_.size();
  uint64_t order = 0;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    if (i % all == 0) order = draws->row << 24 | draws->next++;
    ids.push_back(symbols_[PermutedIndex(draws->random, order, all, i % all)]);
  }
  return ids;
}

TaskRow TaskMaker::Induction(int length, int distance, Draws* draws) const {
  TaskRow row;
  const int copied = std::min(distance, length - distance);
  const int episodes = std::max(length / (2 * distance), 1);
  row.ids = Symbols(length - episodes * (distance + copied), draws);
  for (int episode = 0; episode < episodes; ++episode) {
    const std::vector<int32_t> block = Symbols(distance, draws);
    row.ids.insert(row.ids.end(), block.begin(), block.end());
    row.ids.insert(row.ids.end(), block.begin(), block.begin() + copied);
    const int first = static_cast<int>(row.ids.size()) - copied;
    for (int i = 1; i < copied; ++i) row.answers.push_back({first + i, 1, distance});
  }
  return row;
}

TaskRow TaskMaker::Recall(int length, int distance, Draws* draws) const {
  const int pairs = task_.keys;
  const size_t half = (symbols_.size() - 1) / 2;
  const int32_t padding = symbols_.back();
  // Keys are of the first half of the symbols and differ, values of the second.
  std::vector<int32_t> keys(symbols_.begin(), symbols_.begin() + static_cast<int>(half));
  std::vector<int32_t> values;
  for (int i = 0; i < pairs; ++i) {
    std::swap(keys[static_cast<size_t>(i)],
              keys[static_cast<size_t>(i + draws->Below(half - static_cast<size_t>(i)))]);
    values.push_back(symbols_[half + static_cast<size_t>(draws->Below(half))]);
  }
  std::vector<int> order(static_cast<size_t>(pairs));
  std::iota(order.begin(), order.end(), 0);
  for (int i = pairs - 1; i > 0; --i) {
    std::swap(order[static_cast<size_t>(i)],
              order[static_cast<size_t>(draws->Below(static_cast<size_t>(i) + 1))]);
  }
  TaskRow row;
  row.ids.assign(static_cast<size_t>(length), padding);
  const int asked = length - 2 * pairs, said = asked - distance;
  for (int i = 0; i < pairs; ++i) {
    const auto at = static_cast<size_t>(i), pair = static_cast<size_t>(order[at]);
    row.ids[static_cast<size_t>(said) + 2 * at] = keys[at];
    row.ids[static_cast<size_t>(said) + 2 * at + 1] = values[at];
    row.ids[static_cast<size_t>(asked) + 2 * at] = keys[pair];
    row.ids[static_cast<size_t>(asked) + 2 * at + 1] = values[pair];
    row.answers.push_back({asked + 2 * i + 1, 1, distance + 2 * (i - order[at])});
  }
  return row;
}

TaskRow TaskMaker::Passkey(int length, int distance, Draws* draws) const {
  const Key& key = keys_[static_cast<size_t>(draws->Below(keys_.size()))];
  const auto begin = key.sentence.begin() + key.first;
  TaskRow row;
  const auto fill = [&](int until) {
    for (size_t i = 0; static_cast<int>(row.ids.size()) < until; ++i) {
      row.ids.push_back(filler_[i % filler_.size()]);
    }
  };
  const int answer = length - key.count;
  fill(answer - distance - key.first);
  row.ids.insert(row.ids.end(), key.sentence.begin(), key.sentence.end());
  fill(answer - static_cast<int>(question_.size()));
  row.ids.insert(row.ids.end(), question_.begin(), question_.end());
  row.ids.insert(row.ids.end(), begin, begin + key.count);
  row.answers.push_back({answer, key.count, distance});
  return row;
}

TaskRow TaskMaker::Copy(int length, Draws* draws) const {
  TaskRow row;
  const int half = Offset() + 1;
  for (int first = 0; first < length; first += 2 * half) {
    const std::vector<int32_t> block = Symbols(half, draws);
    row.ids.insert(row.ids.end(), block.begin(), block.end());
    row.ids.insert(row.ids.end(), block.begin(), block.end());
    for (int i = half; i < 2 * half && first + i < length; ++i) {
      row.answers.push_back({first + i, 1, half});
    }
  }
  row.ids.resize(static_cast<size_t>(length));
  return row;
}

}  // namespace gyre
