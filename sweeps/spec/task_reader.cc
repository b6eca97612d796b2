#include "sweeps/spec/task_reader.h"

#include <algorithm>
#include <cctype>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/value_reader.h"
#include "trainer/data/task.h"

namespace gyre {
namespace {

constexpr char kExample[] = "for example [induction, {task: passkey, distances: [64, 128, 256]}]";
constexpr size_t kLongestName = 64;

// What a task is told: some in an evaluation alone, some of a text alone.
struct Parameter {
  std::string_view key;
  FieldKind kind;
  double low, high;
  bool evaluation, text;
};
constexpr Parameter kParameters[] = {
    {"distances", FieldKind::kLengths, 1, 1 << 20, true, false},
    {"rows", FieldKind::kCount, 1, 1 << 16, true, false},
    {"distance", FieldKind::kLengths, 1, 1 << 20, false, true},
    {"documents", FieldKind::kCount, 1, 1 << 24, false, true},
    {"length", FieldKind::kCount, 2, 1 << 20, false, true},
    {"keys", FieldKind::kCount, 1, 4096, true, true},
    {"offset", FieldKind::kCount, 1, 1 << 19, true, true},
};

// Why this task does not take it; empty if it does.
std::string NoUseOf(std::string_view key, const std::string& task) {
  const bool distance = key == "distances" || key == "distance";
  if (distance && !HasDistance(task)) return "has a distance of its own";
  if (key == "keys" && task != "recall") return "has none: they are of recall";
  if (key == "offset" && task != "copy") return "has none: it is of copy";
  return "";
}

bool ReadParameter(const std::string& path, const std::string& task, bool evaluation,
                   const YamlEntry& entry, Json* value, Faults* faults) {
  std::vector<std::string> known = {"task"};
  if (evaluation) known.push_back("name");
  for (const Parameter& parameter : kParameters) {
    if (evaluation ? !parameter.evaluation : !parameter.text) continue;
    known.emplace_back(parameter.key);
    if (entry.key != parameter.key) continue;
    const std::string inner = path + "." + entry.key;
    if (const std::string fault = NoUseOf(entry.key, task); !fault.empty()) {
      faults->Add(entry.place, inner + ": " + task + " " + fault);
      return false;
    }
    const Field field{.path = "",
                      .kind = parameter.kind,
                      .default_text = "",
                      .meaning = "",
                      .low = parameter.low,
                      .high = parameter.high};
    auto read = ReadValue(field, inner, entry.value, {}, faults);
    if (!read) return false;
    if (read->is_null()) return true;
    if (entry.key == "distance" && read->size() == 1) read->push_back(read->front());
    if (entry.key == "distance" && read->size() != 2) {
      faults->Add(entry.value.place,
                  inner + " must be the smallest and the largest distance, and has " +
                      std::to_string(read->size()) + " numbers");
      return false;
    }
    (*value)[entry.key] = *std::move(read);
    return true;
  }
  faults->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + path,
              DidYouMean(entry.key, known));
  return false;
}

// {task: NAME, ...}
std::optional<Json> ReadTask(const std::string& path, const YamlRef& ref, bool evaluation,
                             Faults* faults) {
  const YamlEntry* named = ref.node->Find("task");
  if (named == nullptr) {
    faults->Add(ref.place, path + " has no task", kExample);
    return std::nullopt;
  }
  const auto task = ReadText(path + ".task", named->value, faults);
  if (!task || !CheckTaskName(path + ".task", *task, named->value.place, faults)) {
    return std::nullopt;
  }
  Json value{{"task", *task}};
  bool good = true;
  for (const YamlEntry& entry : ref.node->entries) {
    if (entry.key == "task") continue;
    if (entry.key == "name" && evaluation) {
      const auto name = ReadMetricName(path + ".name", entry.value, faults);
      good &= name.has_value();
      if (name) value["name"] = *name;
    } else {
      good &= ReadParameter(path, *task, evaluation, entry, &value, faults);
    }
  }
  if (!good) return std::nullopt;
  return value;
}

}  // namespace

bool CheckTaskName(const std::string& path, const std::string& name, const TextPlace& place,
                   Faults* faults) {
  const auto& names = TaskNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  faults->Add(place, path + ": there is no task " + Quoted(name) + "; there are " + List(names),
              DidYouMean(name, names));
  return false;
}

std::optional<Json> ReadMetricName(const std::string& path, const YamlRef& ref, Faults* faults) {
  const auto name = ReadText(path, ref, faults);
  if (!name) return std::nullopt;
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  // One that begins with a digit could be a bucket of places.
  if (!name->empty() && name->size() <= kLongestName &&
      std::isalpha(static_cast<unsigned char>(name->front())) &&
      std::all_of(name->begin(), name->end(), plain)) {
    return Json(*name);
  }
  faults->Add(ref.place, path +
                             " must be a letter and up to 63 letters, digits, '-', '_' and '.', " +
                             "and is " + Quoted(*name));
  return std::nullopt;
}

std::optional<Json> ReadTaskSource(const std::string& path, const YamlRef& ref, Faults* faults) {
  return ReadTask(path, ref, /*evaluation=*/false, faults);
}

std::optional<Json> ReadTasks(const std::string& path, const YamlRef& ref, Faults* faults) {
  if (!ref.node->IsSequence()) {
    faults->Add(ref.place, path + " must be a list of tasks, and is " + DescribeNode(*ref.node),
                kExample);
    return std::nullopt;
  }
  Json list = Json::array();
  for (size_t i = 0; i < ref.node->items.size(); ++i) {
    const YamlRef& item = ref.node->items[i];
    const std::string inner = path + "[" + std::to_string(i) + "]";
    if (item.node->IsMapping()) {
      if (auto task = ReadTask(inner, item, /*evaluation=*/true, faults)) list.push_back(*task);
      continue;
    }
    const auto name = ReadText(inner, item, faults);
    if (name && CheckTaskName(inner, *name, item.place, faults)) list.push_back({{"task", *name}});
  }
  if (list.size() != ref.node->items.size()) return std::nullopt;
  return list;
}

}  // namespace gyre
