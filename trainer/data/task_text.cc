#include "trainer/data/task_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "base/random.h"
#include "trainer/data/task.h"
#include "trainer/data/tokenizer.h"

namespace gyre {
namespace {

constexpr int kMostNumber = 1 << 24;
constexpr int kHeldOutShare = 16;

// One of the documents' own, whatever the text is made of.
Result<int> NumberOf(const Json& value, const std::string& key, int least) {
  if (value.is_number_integer() && value >= least && value <= kMostNumber) return value.get<int>();
  return InvalidArgument(key + " of a task must be a whole number of at least " +
                         std::to_string(least) + ", and is " + value.dump());
}

Status SetKey(const std::string& key, const Json& value, TaskText* text) {
  if (key == "distance") {
    if (!value.is_array() || value.size() != 2) {
      return InvalidArgument("distance of a task must be two whole numbers, and is " +
                             value.dump());
    }
    GYRE_ASSIGN_OR_RETURN(text->distance.first, NumberOf(value[0], key, 1));
    GYRE_ASSIGN_OR_RETURN(text->distance.second, NumberOf(value[1], key, text->distance.first));
    return OkStatus();
  }
  int* number = key == "documents" ? &text->documents
                : key == "length"  ? &text->length
                : key == "keys"    ? &text->task.keys
                : key == "offset"  ? &text->task.offset
                                   : nullptr;
  if (number == nullptr) {
    return InvalidArgument("a task has distance, documents, length, keys and offset, and not '" +
                           key + "'");
  }
  GYRE_ASSIGN_OR_RETURN(*number, NumberOf(value, key, 1));
  return OkStatus();
}

// The bytes that the tokenizer makes these ids of.
std::string BytesOf(const std::vector<int32_t>& ids, const Tokenizer& tokenizer) {
  std::string bytes;
  if (!tokenizer.has_bytes()) {
    bytes.resize(ids.size() * sizeof(int32_t));
    std::memcpy(bytes.data(), ids.data(), bytes.size());
    return bytes;
  }
  for (const int32_t id : ids) bytes += tokenizer.BytesOf(id);
  return bytes;
}

}  // namespace

bool IsTaskSource(const Json& source) {
  if (source.is_object()) return source.contains("task");
  return source.is_string() && source.get_ref<const std::string&>().starts_with(kTaskPrefix);
}

Result<TaskText> TaskTextFromJson(const Json& source) {
  TaskText text;
  text.task.keys = kDefaultKeys;
  text.task.offset = 1;
  if (source.is_string()) {
    text.task.task = source.get<std::string>().substr(std::string_view(kTaskPrefix).size());
  } else {
    for (const auto& [key, value] : source.items()) {
      if (key == "task" && value.is_string()) {
        text.task.task = value.get<std::string>();
      } else {
        GYRE_RETURN_IF_ERROR(SetKey(key, value, &text));
      }
    }
  }
  text.task.name = text.task.task;
  const auto& names = TaskNames();
  if (std::find(names.begin(), names.end(), text.task.task) != names.end()) return text;
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  return InvalidArgument("there is no task '" + text.task.task + "'; there are " + known);
}

Json WithTaskLength(const Json& source, int length) {
  Json whole = source;
  if (source.is_string()) {
    whole = {{"task", source.get<std::string>().substr(std::string_view(kTaskPrefix).size())}};
  }
  if (!whole.contains("length")) whole["length"] = length;
  return whole;
}

Status WriteTaskText(const TaskText& text, const TokenizerRequest& tokenizer,
                     const std::function<Status(bool, std::string_view)>& document) {
  const bool words = text.task.task == "passkey";
  const bool trained =
      tokenizer.kind == TokenizerKind::kModel || tokenizer.kind == TokenizerKind::kTrained;
  if (trained && !words) {
    return InvalidArgument("the task " + text.task.name +
                           " is made of single symbols, which a trained tokenizer would join; it "
                           "takes tokenizer: bytes or {ids: n}");
  }
  // Words are written in bytes, whoever reads them.
  const auto writer = tokenizer.kind == TokenizerKind::kIds
                          ? MakeIdTokenizer(tokenizer.vocab_size, tokenizer.document_start)
                          : MakeByteTokenizer();
  GYRE_ASSIGN_OR_RETURN(const TaskMaker maker, TaskMaker::Create(text.task, writer.get()));
  int low = maker.SmallestDistance(), high = maker.LargestDistance(text.length);
  if (HasDistance(text.task.task) && text.distance.first > 0) {
    low = std::max(low, text.distance.first);
    high = std::min(high, text.distance.second);
  }
  if (low > high) {
    return InvalidArgument("the task " + text.task.name + " has no room in " +
                           std::to_string(text.length) + " tokens: its distances are " +
                           std::to_string(maker.SmallestDistance()) + " to " +
                           std::to_string(maker.LargestDistance(text.length)));
  }
  const Random rows(0, "task/text"), distances(0, "task/distances");
  const int held_out = std::max(text.documents / kHeldOutShare, 1);
  for (int i = 0; i < text.documents + held_out; ++i) {
    const auto number = static_cast<uint64_t>(i);
    const double even = distances.Uniform(0, number);
    const int distance =
        std::clamp(static_cast<int>(low * std::pow((high + 1.0) / low, even)), low, high);
    const TaskRow row = maker.Make(text.length, distance, rows, number);
    GYRE_RETURN_IF_ERROR(document(i >= text.documents, BytesOf(row.ids, *writer)));
  }
  return OkStatus();
}

}  // namespace gyre
