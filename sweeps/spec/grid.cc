#include "sweeps/spec/grid.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

// {range: [a, b], count: n} or {log_range: [a, b], count: n}.
struct RangeValues {
  double first = 0, last = 0;
  bool logarithmic = false;
  int64_t count = 0;

  double At(int64_t i) const {
    if (i == 0) return first;
    if (i == count - 1) return last;
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    return logarithmic ? first * std::pow(last / first, share) : first + (last - first) * share;
  }
};

std::string PathOf(const Axis& axis) {
  return axis.section + "." + std::string(AllFields()[axis.field].path);
}

class RangeReader {
 public:
  RangeReader(const Axis& axis, Faults* faults) : axis_(axis), faults_(faults) {}

  std::optional<RangeValues> Read(const YamlNode& node) {
    RangeValues range;
    bool good = true, bounds = false, count = false;
    for (const YamlEntry& entry : node.entries) {
      if (entry.key == "range" || entry.key == "log_range") {
        if (bounds) return Fault(entry.place, "has both range and log_range");
        bounds = true;
        range.logarithmic = entry.key == "log_range";
        good &= Bounds(entry.value, &range);
      } else if (entry.key == "count") {
        count = true;
        good &= Count(entry.value, &range);
      } else {
        faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + Name(),
                     DidYouMean(entry.key, {"range", "log_range", "count"}));
        good = false;
      }
    }
    if (!bounds || !count) {
      return Fault(axis_.written.place,
                   std::string("needs ") + (bounds ? "a count" : "a range or log_range"),
                   "for example {log_range: [1e-4, 1e-2], count: 5}");
    }
    if (!good) return std::nullopt;
    return range;
  }

 private:
  std::string Name() const { return PathOf(axis_); }

  std::optional<RangeValues> Fault(const TextPlace& place, const std::string& rest,
                                   const std::string& help = "") {
    faults_->Add(place, Name() + " " + rest, help);
    return std::nullopt;
  }

  std::optional<double> Value(const YamlRef& ref, const std::string& what) {
    if (!ref.node->IsScalar()) {
      Fault(ref.place, what + " must be a number, and is " + DescribeNode(*ref.node));
      return std::nullopt;
    }
    const Reading<Number> number = ReadNumber(ref.node->text, "a number");
    if (!number.value)
      Fault(ref.place, what + " " + number.complaint.message, number.complaint.help);
    return number.value ? std::optional(number.value->value) : std::nullopt;
  }

  bool Bounds(const YamlRef& ref, RangeValues* range) {
    if (!ref.node->IsSequence() || ref.node->items.size() != 2) {
      const bool list = ref.node->IsSequence();
      const std::string is =
          list ? "has " + std::to_string(ref.node->items.size()) : "is " + DescribeNode(*ref.node);
      return Fault(ref.place, "range must be a list of two numbers, and " + is).has_value();
    }
    const auto first = Value(ref.node->items[0], "range"),
               last = Value(ref.node->items[1], "range");
    if (!first || !last) return false;
    range->first = *first;
    range->last = *last;
    const bool positive = *first > 0 && *last > 0;
    if (range->logarithmic && !positive)
      return Fault(ref.place, "log_range must lie above 0").has_value();
    return true;
  }

  bool Count(const YamlRef& ref, RangeValues* range) {
    const auto count = Value(ref, "count");
    if (!count) return false;
    if (*count < 1 || *count > 1e15 || std::trunc(*count) != *count) {
      return Fault(ref.place,
                   "count must be a whole number of at least 1, and is " + ref.node->text)
          .has_value();
    }
    range->count = static_cast<int64_t>(*count);
    return true;
  }

  const Axis& axis_;
  Faults* faults_;
};

bool IsNumeric(const Field& field) {
  return field.kind == FieldKind::kCount || field.kind == FieldKind::kNumber ||
         field.kind == FieldKind::kShare || field.kind == FieldKind::kCountOrAuto;
}

void ReadAxis(Axis* axis, Faults* faults) {
  const Field& field = AllFields()[axis->field];
  const YamlRef& ref = axis->written;
  const std::string name = PathOf(*axis);
  if (ref.node->IsSequence() && !ref.node->items.empty()) {
    axis->count = ref.node->items.size();
    axis->usable = true;
  } else if (ref.node->IsMapping()) {
    if (!IsNumeric(field)) {
      faults->Add(ref.place,
                  name + " must be a list, since " + std::string(field.path) + " is not a number");
      return;
    }
    if (const auto range = RangeReader(*axis, faults).Read(*ref.node)) {
      axis->count = range->count;
      axis->usable = true;
    }
  } else {
    const bool empty_list = ref.node->IsSequence();
    faults->Add(ref.place,
                name + " must be a list of values, and is " +
                    (empty_list ? "an empty list" : DescribeNode(*ref.node)),
                ref.node->IsScalar() ? "write [" + Shown(ref.node->text) + "]" : "");
  }
}

void AddValue(Axis* axis, Settings settings, const TextPlace& place, std::set<std::string>* names,
              Faults* faults) {
  const auto own = settings.find(axis->field);
  if (own != settings.end() && !own->second->usable) axis->usable = false;
  // Other spellings set other fields; the first is the one that was meant.
  const Setting* named = own != settings.end() ? own->second
                         : settings.empty()    ? nullptr
                                               : settings.begin()->second;
  AxisValue value{std::move(settings), named == nullptr ? "null" : NameOf(named->value), place};
  // The rows of a zip must differ, not the values of one of its paths.
  const bool is_new = axis->section == "zip" || names->insert(value.text).second;
  if (axis->usable && !is_new) {
    faults->Add(place, PathOf(*axis) + " has " + Quoted(value.text) +
                           " twice, which makes two variants with one name");
  }
  axis->values.push_back(std::move(value));
}

// Six digits can be read; they name computed values unless they fail to tell them apart.
void BriefNames(Axis* axis) {
  std::set<std::string> distinct;
  std::vector<std::string> names;
  for (const AxisValue& value : axis->values) {
    char brief[32];
    std::snprintf(brief, sizeof(brief), "%.6g", std::strtod(value.text.c_str(), nullptr));
    names.push_back(FormatNumber(std::strtod(brief, nullptr)));
    distinct.insert(names.back());
  }
  if (distinct.size() != names.size()) return;
  for (size_t i = 0; i < names.size(); ++i) axis->values[i].text = names[i];
}

// Computed values are read like written ones, so that they meet the same checks; the first fault
// speaks for all.
void BuildRange(Axis* axis, const Settings* base, const ReadContext& context,
                std::set<std::string>* names) {
  const auto range = RangeReader(*axis, context.faults).Read(*axis->written.node);
  if (!range) return;
  for (int64_t i = 0; i < range->count; ++i) {
    YamlNode node{.kind = YamlKind::kScalar,
                  .place = axis->written.place,
                  .text = FormatNumber(range->At(i)),
                  .items = {},
                  .entries = {}};
    BlockReader reader(axis->section, Rank::kGrid, base, context);
    const int64_t before = context.faults->count();
    Settings settings = reader.ReadField(axis->field, {&node, node.place});
    axis->usable = context.faults->count() == before;
    if (!axis->usable) return;
    AddValue(axis, std::move(settings), node.place, names, context.faults);
  }
  BriefNames(axis);
}

void LabelValues(Axis* axis) {
  for (AxisValue& value : axis->values) value.text = axis->label + "=" + value.text;
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

std::vector<Axis> ReadAxes(const std::string& section, const YamlRef& ref, Faults* faults) {
  std::vector<Axis> axes;
  if (ref.node->IsNull()) return axes;
  if (!ref.node->IsMapping()) {
    faults->Add(
        ref.place,
        section + " must be a mapping from paths to lists, and is " + DescribeNode(*ref.node),
        section == "zip"
            ? "for example {train.tokens: [10M, 20M], train.optimizer.lr: [3e-3, 1e-3]}"
            : "for example {train.optimizer.lr: [1e-3, 3e-3]}");
    return axes;
  }
  std::set<int> seen;
  for (const YamlEntry& entry : ref.node->entries) {
    Axis axis{.section = section,
              .label = entry.key.substr(entry.key.rfind('.') + 1),
              .place = entry.place,
              .written = entry.value};
    axis.field = ReadPath(section, entry.key, entry.place, faults);
    if (axis.field < 0) continue;
    if (!seen.insert(axis.field).second) {
      faults->Add(entry.place,
                  section + ": " + Quoted(entry.key) + " is there already under another spelling");
      continue;
    }
    ReadAxis(&axis, faults);
    axes.push_back(std::move(axis));
  }
  return axes;
}

void CheckZip(std::vector<Axis>* zip, const std::vector<Axis>& grid, Faults* faults) {
  for (Axis& axis : *zip) {
    const std::string path = Quoted(AllFields()[axis.field].path);
    for (const Axis& other : grid) {
      if (other.field == axis.field)
        faults->Add(axis.place, "zip: " + path + " is in grid too", "a path varies in one of them");
    }
    const Axis& first = zip->front();
    if (!axis.usable || !first.usable || axis.count == first.count) continue;
    const std::string values = axis.count == 1 ? " value" : " values";
    faults->Add(axis.place,
                "zip: " + path + " has " + WithSeparators(axis.count) + values + ", and " +
                    Quoted(AllFields()[first.field].path) + " on line " +
                    std::to_string(first.place.line) + " has " + WithSeparators(first.count),
                "the lists of zip vary together, so they must be of one length; a list that varies "
                "by itself belongs in grid");
    axis.count = first.count;
    axis.usable = false;
  }
}

void BuildAxis(Axis* axis, const Settings* base, const ReadContext& context) {
  if (!axis->usable) return;
  std::set<std::string> names;
  if (axis->written.node->IsMapping()) {
    BuildRange(axis, base, context, &names);
    return LabelValues(axis);
  }
  for (const YamlRef& item : axis->written.node->items) {
    BlockReader reader(axis->section, Rank::kGrid, base, context);
    const int64_t before = context.faults->count();
    Settings settings = reader.ReadField(axis->field, item);
    if (context.faults->count() > before) axis->usable = false;
    AddValue(axis, std::move(settings), item.place, &names, context.faults);
  }
  LabelValues(axis);
}

Axis JoinZip(const std::vector<Axis>& zip, Faults* faults) {
  Axis joined{.section = "zip", .label = "", .place = zip.front().place, .written = {}};
  joined.usable = std::all_of(zip.begin(), zip.end(), [&zip](const Axis& axis) {
    return axis.usable && axis.values.size() == zip.front().values.size();
  });
  if (!joined.usable) return joined;
  joined.values = zip.front().values;
  joined.count = joined.values.size();
  std::map<std::string, size_t> rows;
  for (size_t i = 0; i < joined.values.size(); ++i) {
    AxisValue& row = joined.values[i];
    for (size_t path = 1; path < zip.size(); ++path) {
      row.settings.insert(zip[path].values[i].settings.begin(), zip[path].values[i].settings.end());
      row.text += " " + zip[path].values[i].text;
    }
    const auto [first, is_new] = rows.emplace(row.text, i);
    if (is_new) continue;
    joined.usable = false;
    faults->Add(row.place, "zip: places " + std::to_string(first->second + 1) + " and " +
                               std::to_string(i + 1) + " of the lists are both " +
                               Quoted(row.text) + ", which makes two variants with one name");
  }
  return joined;
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
      for (const auto& [own, setting] : reader.ReadField(field, entry.value)) {
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
