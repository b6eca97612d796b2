#include "trainer/config/fields.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <unordered_map>

namespace gyre {
namespace {

struct Index {
  std::unordered_map<std::string_view, int> fields;
  std::set<std::string, std::less<>> blocks;

  Index() {
    for (int i = 0; const Field& field : AllFields()) {
      fields.emplace(field.path, i++);
      if (field.scope != FieldScope::kJob) continue;
      for (size_t dot = field.path.find('.'); dot != std::string_view::npos;
           dot = field.path.find('.', dot + 1)) {
        blocks.emplace(field.path.substr(0, dot));
      }
    }
  }
};

const Index& TheIndex() {
  static const Index index;
  return index;
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.15g", value);
  return text;
}

}  // namespace

int FieldIndex(std::string_view path) {
  const auto found = TheIndex().fields.find(path);
  return found == TheIndex().fields.end() ? -1 : found->second;
}

int FieldIndexOrDie(std::string_view path) {
  const int index = FieldIndex(path);
  if (index < 0) {
    std::fprintf(stderr, "gyre: no field '%s' in the table\n", std::string(path).c_str());
    std::abort();
  }
  return index;
}

bool IsBlock(std::string_view path) { return TheIndex().blocks.contains(path); }

std::vector<std::string> KeysUnder(std::string_view prefix) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const Field& field : AllFields()) {
    if (field.scope == FieldScope::kSweep) continue;
    std::string_view rest = field.path;
    if (!prefix.empty()) {
      if (!rest.starts_with(prefix) || rest.size() <= prefix.size() || rest[prefix.size()] != '.')
        continue;
      rest.remove_prefix(prefix.size() + 1);
    }
    std::string key(rest.substr(0, rest.find('.')));
    if (seen.insert(key).second) keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<std::string> SweepKeys() {
  std::vector<std::string> keys;
  for (const Field& field : AllFields()) {
    if (field.scope != FieldScope::kSweep) continue;
    std::string key(field.path.substr(0, field.path.find('.')));
    if (keys.empty() || keys.back() != key) keys.push_back(std::move(key));
  }
  return keys;
}

std::string DescribeType(const Field& field) {
  std::string range;
  const bool low = std::numeric_limits<double>::lowest() < field.low;
  // Limits that only keep numbers sane are not worth words.
  const bool high = field.high < 1e9;
  if (low && high && !field.low_open && !field.high_open) {
    range = " between " + Number(field.low) + " and " + Number(field.high);
  } else {
    if (low) range += (field.low_open ? " above " : " of at least ") + Number(field.low);
    if (low && high) range += " and";
    if (high) range += (field.high_open ? " below " : " at most ") + Number(field.high);
  }
  switch (field.kind) {
    case FieldKind::kCount:
      return "a whole number" + range;
    case FieldKind::kCountOrAuto:
      return "auto, or a whole number" + range;
    case FieldKind::kNumber:
      return "a finite number" + range;
    case FieldKind::kShare:
      return "a number or percentage" + range;
    case FieldKind::kBoolean:
      return "true or false";
    case FieldKind::kChoice:
    case FieldKind::kChoices: {
      std::string list;
      for (const std::string& word : Words(field.choices))
        list += (list.empty() ? "" : ", ") + word;
      return (field.kind == FieldKind::kChoice ? "one of " : "a list of ") + list;
    }
    case FieldKind::kName:
      return "a name";
    case FieldKind::kText:
      return "text";
    case FieldKind::kTime:
      return "a time such as 90s, 10m or 2h";
    case FieldKind::kSize:
      return "a size such as 512MiB or 4GiB";
    case FieldKind::kBetas:
      return "a list of two numbers, each" + range;
    case FieldKind::kBand:
      return "a list of two whole numbers, each" + range;
    case FieldKind::kSource:
      return "a source, or a list of sources";
    case FieldKind::kSources:
      return "a mapping from names to sources";
    case FieldKind::kLengths:
      return "an ascending list of whole numbers, each" + range;
    case FieldKind::kEdges:
      return "an ascending list of whole numbers that begins with 0";
    case FieldKind::kWeights:
      return "a folder, or checkpoint:JOB";
    case FieldKind::kSwitch:
      return "a mapping, or a list of them";
    case FieldKind::kTokenizer:
      return "a tokenizer";
    case FieldKind::kLayers:
    case FieldKind::kInterventions:
      return "a list of mappings";
    case FieldKind::kTasks:
      return "a list of tasks";
    case FieldKind::kFlags:
      return "a list of 0 and 1, one a layer";
    case FieldKind::kLayerTypes:
      return "a list of layer types, one a layer";
    case FieldKind::kRope:
      return "a mapping";
    case FieldKind::kAny:
      return "see the meaning";
  }
  return "";
}

std::vector<std::string> Words(std::string_view list) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(' ', begin), list.size());
    if (end > begin) words.emplace_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace gyre
