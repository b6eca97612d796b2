#include "sweeps/spec/grid.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/source_paths.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

bool IsNumeric(const Field& field) {
  return field.kind == FieldKind::kCount || field.kind == FieldKind::kNumber ||
         field.kind == FieldKind::kShare || field.kind == FieldKind::kCountOrAuto;
}

// Reads what stands under a path; answers whether it can be used.
bool ReadValues(AxisPath* path, bool sampled, Faults* faults) {
  const Field& field = AllFields()[path->field];
  const YamlRef& ref = path->written;
  if (ref.node->IsSequence() && !ref.node->items.empty()) {
    path->count = ref.node->items.size();
    return true;
  }
  if (ref.node->IsMapping()) {
    if (!IsNumeric(field)) {
      faults->Add(ref.place, path->Name() + " must be a list, since " + std::string(field.path) +
                                 " is not a number");
      return false;
    }
    path->range = ReadRange(path->Name(), ref, sampled, faults);
    if (!path->range) return false;
    path->count = path->range->count;
    return true;
  }
  const bool empty_list = ref.node->IsSequence();
  faults->Add(ref.place,
              path->Name() + " must be a list of values, and is " +
                  (empty_list ? "an empty list" : DescribeNode(*ref.node)),
              ref.node->IsScalar() ? "write [" + Shown(ref.node->text) + "]" : "");
  return false;
}

// The path of an entry; nothing after a report.
std::optional<AxisPath> ReadAxisPath(const std::string& section, const YamlEntry& entry,
                                     std::map<int, std::string>* seen, Faults* faults) {
  AxisPath path{.section = section,
                .label = entry.key.substr(entry.key.rfind('.') + 1),
                .place = entry.place,
                .range = std::nullopt,
                .values = {},
                .written = entry.value,
                .drawn = {}};
  path.field = ReadPath(section, entry.key, entry.place, faults);
  if (path.field < 0) return std::nullopt;
  const auto [known, is_new] = seen->emplace(path.field, entry.key);
  if (!is_new) {
    faults->Add(entry.place, section + ": " + Quoted(entry.key) + " is there already" +
                                 (known->second == entry.key ? "" : " under another spelling"));
    return std::nullopt;
  }
  return path;
}

void AddValue(AxisPath* path, Settings settings, const TextPlace& place,
              const ReadContext& context) {
  const auto own = settings.find(path->field);
  // Other spellings set other fields; the first is the one that was meant.
  const Setting* named = own != settings.end() ? own->second
                         : settings.empty()    ? nullptr
                                               : settings.begin()->second;
  std::string text = named == nullptr ? "null" : NameOf(named->value);
  path->values.push_back({WithAbsolutePaths(std::move(settings), context), std::move(text), place});
}

// Six digits can be read; they name computed values unless they fail to tell them apart.
void BriefNames(AxisPath* path) {
  std::set<std::string> distinct;
  std::vector<std::string> names;
  for (const AxisValue& value : path->values) {
    char brief[32];
    std::snprintf(brief, sizeof(brief), "%.6g", std::strtod(value.text.c_str(), nullptr));
    names.push_back(FormatNumber(std::strtod(brief, nullptr)));
    distinct.insert(names.back());
  }
  if (distinct.size() != names.size()) return;
  for (size_t i = 0; i < names.size(); ++i) path->values[i].text = names[i];
}

// What lies between the ends of an open range is right where they are; they are read for that, and
// for the keys that the path sets.
bool ReadEnds(const AxisPath& path, const Settings* base, const ReadContext& context,
              Settings* sets) {
  AxisPath ends = path;
  if (!AppendComputed(&ends, path.range->first, base, context)) return false;
  if (!AppendComputed(&ends, path.range->last, base, context)) return false;
  *sets = ends.values.front().settings;
  return true;
}

bool BuildPath(AxisPath* path, const Settings* base, const ReadContext& context) {
  if (path->range) {
    for (int64_t i = 0; i < path->range->count; ++i) {
      // The first fault speaks for all.
      if (!AppendComputed(path, path->range->At(i), base, context)) return false;
    }
    BriefNames(path);
    return true;
  }
  bool good = true;
  for (const YamlRef& item : path->written.node->items) {
    BlockReader reader(path->section, Rank::kGrid, base, context);
    const int64_t before = context.faults->count();
    Settings settings = reader.ReadField(path->field, item);
    good &= context.faults->count() == before;
    AddValue(path, std::move(settings), item.place, context);
  }
  return good;
}

bool CheckNames(const Axis& axis, Faults* faults) {
  bool good = true;
  std::map<std::string, size_t> names;
  const AxisPath& first = axis.paths.front();
  for (size_t i = 0; i < axis.count; ++i) {
    const auto [known, is_new] = names.emplace(axis.TextAt(i), i);
    if (is_new) continue;
    good = false;
    const std::string twice = axis.paths.size() == 1
                                  ? first.Name() + " has " + Quoted(first.values[i].text) + " twice"
                                  : "zip: places " + std::to_string(known->second + 1) + " and " +
                                        std::to_string(i + 1) + " of the lists are both " +
                                        Quoted(known->first);
    faults->Add(first.values[i].place, twice + ", which makes two variants with one name");
  }
  return good;
}

// Two spellings of one key are two paths of which the later would silently win.
class KeysSet {
 public:
  explicit KeysSet(Faults* faults) : faults_(faults) {}

  void Take(const AxisPath& path, const Settings& settings) {
    for (const auto& [field, setting] : settings) {
      const auto [first, is_new] = by_.emplace(field, &path);
      if (is_new || first->second == &path) continue;
      const TextPlace& other = first->second->place;
      const std::string file =
          other.file == path.place.file ? "" : " of " + faults_->FileName(other.file);
      faults_->AddOnce(path.place, "spelling",
                       path.section + ": " + Quoted(AllFields()[field].path) + " varies on line " +
                           std::to_string(other.line) + file + " already");
    }
  }

 private:
  Faults* faults_;
  std::map<int, const AxisPath*> by_;  // by field
};

void BuildAxis(Axis* axis, const Settings* base, const ReadContext& context, KeysSet* keys) {
  if (!axis->usable) return;
  if (axis->open) {
    Settings sets;
    axis->usable = ReadEnds(axis->paths.front(), base, context, &sets);
    return keys->Take(axis->paths.front(), sets);
  }
  for (AxisPath& path : axis->paths) {
    axis->usable &= BuildPath(&path, base, context);
    for (const AxisValue& value : path.values) keys->Take(path, value.settings);
  }
  axis->usable = axis->usable && CheckNames(*axis, context.faults);
}

// One mapping under zip.
void ReadZip(const YamlRef& ref, std::map<int, std::string>* seen, const std::vector<Axis>& grid,
             std::vector<Axis>* axes, Faults* faults) {
  Axis axis{.paths = {}, .usable = true};
  for (const YamlEntry& entry : ref.node->entries) {
    auto path = ReadAxisPath("zip", entry, seen, faults);
    if (!path) {
      axis.usable = false;
      continue;
    }
    const bool in_grid = std::any_of(grid.begin(), grid.end(), [&](const Axis& other) {
      return other.paths.front().field == path->field;
    });
    if (in_grid) {
      faults->Add(entry.place, "zip: " + Quoted(entry.key) + " is in grid too",
                  "leave it in one of them");
      axis.usable = false;
    } else if (!ReadValues(&*path, false, faults)) {
      axis.usable = false;
    } else if (!axis.paths.empty() && path->count != axis.paths.front().count) {
      const AxisPath& first = axis.paths.front();
      faults->Add(path->written.place,
                  path->Name() + " has " + WithSeparators(path->count) +
                      (path->count == 1 ? " value" : " values") + ", and " + first.Name() +
                      " on line " + std::to_string(first.place.line) + " has " +
                      WithSeparators(first.count),
                  "paths of a zip vary together, so they have as many values each; one that varies "
                  "by itself belongs in grid");
      axis.usable = false;
    } else {
      axis.paths.push_back(*std::move(path));
    }
  }
  if (axis.paths.empty()) return;
  axis.count = axis.paths.front().count;
  axes->push_back(std::move(axis));
}

}  // namespace

int ReadPath(const std::string& section, const std::string& path, const TextPlace& place,
             Faults* faults) {
  int field = FieldIndex(path);
  if (field < 0 && path.starts_with("model.")) {
    field = FieldIndex("position." + path.substr(6));
    if (field >= 0 && AllFields()[field].scope != FieldScope::kHuggingFace) field = -1;
  }
  const bool job_field = field >= 0 && AllFields()[field].scope != FieldScope::kSweep;
  if (job_field && AllFields()[field].kind != FieldKind::kRope && path != "position.rope_type")
    return field;
  if (IsBlock(path) || job_field) {
    std::vector<std::string> keys = KeysUnder(job_field ? "position.scaling" : path);
    faults->Add(place, section + ": " + Quoted(path) + " is a block and no single key",
                "name one of its keys (" + List(keys, 6) + "), or make variants of the blocks");
    return -1;
  }
  std::vector<std::string> paths;
  for (const Field& known : AllFields()) {
    if (known.scope != FieldScope::kSweep) paths.emplace_back(known.path);
  }
  std::string help = DidYouMean(path, paths);
  if (path.starts_with("base.") && FieldIndex(path.substr(5)) >= 0)
    help = "did you mean '" + path.substr(5) + "'?";
  for (const std::string& known : paths) {
    if (help.empty() && known.substr(known.rfind('.') + 1) == path)
      help = "did you mean '" + known + "'?";
  }
  const bool outside = field >= 0 && !job_field;
  faults->Add(place,
              section + ": " +
                  (outside ? Quoted(path) + " is the same for all jobs of a sweep"
                           : "there is no path " + Quoted(path)),
              outside ? "" : help);
  return -1;
}

std::string Axis::TextAt(size_t index) const {
  std::string text;
  for (const AxisPath& path : paths) {
    text += (text.empty() ? "" : " ") + path.label + "=" + path.values[index].text;
  }
  return text;
}

std::vector<Axis> ReadGridAxes(const YamlRef& grid, bool sampled, Faults* faults) {
  std::vector<Axis> axes;
  if (grid.node->IsNull()) return axes;
  if (!grid.node->IsMapping()) {
    faults->Add(grid.place,
                "grid must be a mapping from paths to lists, and is " + DescribeNode(*grid.node),
                "for example {train.optimizer.lr: [1e-3, 3e-3]}");
    return axes;
  }
  std::map<int, std::string> seen;
  for (const YamlEntry& entry : grid.node->entries) {
    auto path = ReadAxisPath("grid", entry, &seen, faults);
    if (!path) continue;
    Axis axis{.paths = {}};
    axis.usable = ReadValues(&*path, sampled, faults);
    axis.open = axis.usable && path->range && path->range->count == 0;
    axis.count = path->count;
    axis.paths.push_back(*std::move(path));
    axes.push_back(std::move(axis));
  }
  return axes;
}

std::vector<Axis> ReadZipAxes(const YamlRef& zip, const std::vector<Axis>& grid, Faults* faults) {
  std::vector<Axis> axes;
  if (zip.node->IsNull()) return axes;
  std::vector<YamlRef> mappings{zip};
  if (zip.node->IsSequence()) mappings = zip.node->items;
  std::map<int, std::string> seen;
  for (const YamlRef& ref : mappings) {
    if (ref.node->IsMapping() && !ref.node->entries.empty()) {
      ReadZip(ref, &seen, grid, &axes, faults);
      continue;
    }
    faults->Add(ref.place,
                "zip must be a mapping from paths to lists, or a list of such, and is " +
                    (ref.node->IsMapping() ? "empty" : DescribeNode(*ref.node)),
                "for example {model.hidden_size: [128, 256], model.num_hidden_layers: [2, 4]}");
  }
  return axes;
}

bool AppendComputed(AxisPath* path, double value, const Settings* base,
                    const ReadContext& context) {
  YamlNode node{.kind = YamlKind::kScalar,
                .place = path->written.place,
                .text = FormatNumber(value),
                .items = {},
                .entries = {}};
  BlockReader reader(path->section, Rank::kGrid, base, context);
  const int64_t before = context.faults->count();
  Settings settings = reader.ReadField(path->field, {&node, node.place});
  if (context.faults->count() > before) return false;
  AddValue(path, std::move(settings), node.place, context);
  return true;
}

int64_t CountPoints(const std::vector<Axis>& axes) {
  int64_t points = 1;
  for (const Axis& axis : axes) {
    if (axis.open || __builtin_mul_overflow(points, std::max<uint64_t>(axis.count, 1), &points))
      return kUncountable;
  }
  return points;
}

void BuildAxes(std::vector<Axis>* axes, const Settings* base, const ReadContext& context) {
  KeysSet keys(context.faults);
  for (Axis& axis : *axes) BuildAxis(&axis, base, context, &keys);
  std::erase_if(*axes, [](const Axis& axis) { return !axis.usable; });
}

std::vector<ExcludeItem> ReadExclude(const YamlRef& exclude, const Settings* base,
                                     const ReadContext& context) {
  std::vector<ExcludeItem> items;
  if (exclude.node->IsNull()) return items;
  if (!exclude.node->IsSequence()) {
    context.faults->Add(exclude.place,
                        "exclude must be a list of mappings, and is " + DescribeNode(*exclude.node),
                        "for example [{position.type: nope, data.context: 1024}]");
    return items;
  }
  for (const YamlRef& ref : exclude.node->items) {
    if (!ref.node->IsMapping() || ref.node->entries.empty()) {
      const std::string is = ref.node->IsMapping() ? "an empty one" : DescribeNode(*ref.node);
      context.faults->Add(ref.place,
                          "exclude: an item must be a mapping from paths to values, and is " + is);
      continue;
    }
    ExcludeItem item{.pairs = {}, .place = ref.place};
    for (const YamlEntry& entry : ref.node->entries) {
      const int field = ReadPath("exclude", entry.key, entry.place, context.faults);
      if (field < 0) continue;
      BlockReader reader("exclude", Rank::kGrid, base, context);
      const Settings settings = WithAbsolutePaths(reader.ReadField(field, entry.value), context);
      for (const auto& [own, setting] : settings) {
        item.pairs.push_back({own, setting->value, std::string(AllFields()[own].path)});
      }
    }
    items.push_back(std::move(item));
  }
  return items;
}

std::string NameOf(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return FormatNumber(value.get<double>());
  if (value.is_object() && value.contains("source") && value.contains("weight")) {
    return NameOf(value["weight"]) + "*" + NameOf(value["source"]);
  }
  if (value.is_object() && value.contains("path")) return NameOf(value["path"]);
  if (value.is_object() && value.contains("vocab_size")) return "bpe-" + value["vocab_size"].dump();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) text += (text.empty() ? "" : ",") + NameOf(item);
  return "[" + text + "]";
}

}  // namespace gyre
