#include "sweeps/spec/value_reader.h"

#include <algorithm>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/sources.h"
#include "sweeps/spec/task_reader.h"

namespace gyre {
namespace {

constexpr int kLongestName = 200;

class ValueReader {
 public:
  ValueReader(const Field& field, const std::string& path, const std::vector<std::string>& corpora,
              Faults* faults)
      : field_(field), path_(path), corpora_(corpora), faults_(faults) {}

  std::optional<Json> Read(const YamlRef& ref) {
    if (ref.node->IsNull()) return Json();
    if (field_.later == "*") return ReadLater(ref);
    switch (field_.kind) {
      case FieldKind::kCount:
        return ReadCount(ref);
      case FieldKind::kCountOrAuto:
        if (ref.node->IsScalar() && ref.node->text == "auto") return Json("auto");
        return ReadCount(ref);
      case FieldKind::kNumber:
        return ReadReal(ref);
      case FieldKind::kShare:
        return ReadReal(ref);
      case FieldKind::kBoolean:
        return ReadFlag(ref);
      case FieldKind::kChoice:
        return ReadChoice(ref);
      case FieldKind::kChoices:
        return ReadChoices(ref);
      case FieldKind::kName:
      case FieldKind::kText:
        return ReadPlainText(ref);
      case FieldKind::kTime:
        return ReadUnits(ref, ReadTime);
      case FieldKind::kSize:
        return ReadUnits(ref, ReadSize);
      case FieldKind::kBetas:
        return ReadPair(ref);
      case FieldKind::kBand:
        return ReadBand(ref);
      case FieldKind::kSource:
        return ReadTrainSource(path_, ref, corpora_, faults_);
      case FieldKind::kSources:
        return ReadSources(path_, ref, corpora_, faults_);
      case FieldKind::kTokenizer:
        return ReadTokenizer(path_, ref, faults_);
      case FieldKind::kFlags:
      case FieldKind::kLayerTypes:
        return ReadPerLayer(ref);
      case FieldKind::kWeights:
        return ReadWeights(ref);
      case FieldKind::kLengths:
      case FieldKind::kEdges:
        return ReadAscending(ref);
      case FieldKind::kTasks:
        return ReadTasks(path_, ref, faults_);
      case FieldKind::kInterventions:
      case FieldKind::kLayers:
      case FieldKind::kSwitch:
      case FieldKind::kRope:
      case FieldKind::kAny:
        break;
    }
    return std::nullopt;
  }

 private:
  std::optional<Json> Fault(const TextPlace& place, const std::string& rest,
                            const std::string& help = "") {
    faults_->Add(place, path_ + " " + rest, help);
    return std::nullopt;
  }

  const char* Wanted() const {
    switch (field_.kind) {
      case FieldKind::kCount:
      case FieldKind::kBand:
      case FieldKind::kLengths:
      case FieldKind::kEdges:
        return "a whole number";
      case FieldKind::kCountOrAuto:
        return "auto or a whole number";
      default:
        return "a number";
    }
  }

  // A null of JSON stands for a fault here: no number reads as null.
  std::optional<Number> ReadScalarNumber(const YamlRef& ref) {
    if (!ref.node->IsScalar()) {
      Fault(ref.place, std::string("must be ") + Wanted() + ", and is " + DescribeNode(*ref.node));
      return std::nullopt;
    }
    const Reading<Number> reading = ReadNumber(ref.node->text, Wanted());
    if (!reading.value) {
      Fault(ref.place, reading.complaint.message, reading.complaint.help);
      return std::nullopt;
    }
    if (reading.value->percent && field_.kind != FieldKind::kShare) {
      Fault(ref.place, std::string("must be ") + Wanted() + ", and is " + Quoted(ref.node->text) +
                           ", a percentage");
      return std::nullopt;
    }
    return reading.value;
  }

  bool InRange(const YamlRef& ref, double value) {
    const std::string fault = RangeFault(field_, path_, value, ref.node->text);
    if (!fault.empty()) faults_->Add(ref.place, fault);
    return fault.empty();
  }

  std::optional<Json> ReadCount(const YamlRef& ref) {
    const auto number = ReadScalarNumber(ref);
    if (!number || !InRange(ref, number->value)) return std::nullopt;
    if (!number->whole)
      return Fault(ref.place, std::string("must be ") + Wanted() + ", and is " + ref.node->text);
    return Json(*number->whole);
  }

  std::optional<Json> ReadReal(const YamlRef& ref) {
    const auto number = ReadScalarNumber(ref);
    if (!number || !InRange(ref, number->value)) return std::nullopt;
    return Json(number->value);
  }

  std::optional<Json> ReadFlag(const YamlRef& ref) {
    if (!ref.node->IsScalar())
      return Fault(ref.place, "must be true or false, and is " + DescribeNode(*ref.node));
    const Reading<bool> reading = ReadBoolean(ref.node->text, ref.node->quoted);
    if (!reading.value) return Fault(ref.place, reading.complaint.message, reading.complaint.help);
    return Json(*reading.value);
  }

  std::optional<Json> ReadChoice(const YamlRef& ref) {
    const std::vector<std::string> choices = Words(field_.choices);
    const std::string list = "must be one of " + List(choices) + ", and is ";
    if (!ref.node->IsScalar()) return Fault(ref.place, list + DescribeNode(*ref.node));
    const std::string& text = ref.node->text;
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      return Fault(ref.place, list + Quoted(text), DidYouMean(text, choices));
    }
    const std::vector<std::string> later = Words(field_.later);
    if (std::find(later.begin(), later.end(), text) != later.end()) {
      return Fault(ref.place, "'" + text + "' is not yet supported");
    }
    return Json(text);
  }

  // In the order of the table, so that the order in the file means nothing.
  std::optional<Json> ReadChoices(const YamlRef& ref) {
    const std::vector<std::string> choices = Words(field_.choices);
    if (!ref.node->IsSequence()) {
      const bool one = ref.node->IsScalar() &&
                       std::find(choices.begin(), choices.end(), ref.node->text) != choices.end();
      return Fault(ref.place,
                   "must be a list of " + List(choices) + ", and is " + DescribeNode(*ref.node),
                   one ? "write [" + ref.node->text + "]" : "[] stands for none of them");
    }
    std::vector<bool> named(choices.size());
    bool fine = true;
    for (const YamlRef& item : ref.node->items) {
      const std::string text = item.node->IsScalar() ? item.node->text : "";
      const auto found = std::find(choices.begin(), choices.end(), text);
      if (found == choices.end()) {
        Fault(item.place, "takes " + List(choices) + ", and not " + DescribeNode(*item.node),
              DidYouMean(text, choices));
        fine = false;
      } else if (named[static_cast<size_t>(found - choices.begin())]) {
        Fault(item.place, "names " + text + " twice");
        fine = false;
      } else {
        named[static_cast<size_t>(found - choices.begin())] = true;
      }
    }
    if (!fine) return std::nullopt;
    Json values = Json::array();
    for (size_t i = 0; i < choices.size(); ++i) {
      if (named[i]) values.push_back(choices[i]);
    }
    return values;
  }

  std::optional<Json> ReadPlainText(const YamlRef& ref) {
    auto text = ReadText(path_, ref, faults_);
    if (!text) return std::nullopt;
    return Json(*text);
  }

  std::optional<Json> ReadUnits(const YamlRef& ref, Reading<int64_t> (*read)(std::string_view)) {
    if (!ref.node->IsScalar()) {
      return Fault(ref.place,
                   "must be " + DescribeType(field_) + ", and is " + DescribeNode(*ref.node));
    }
    const Reading<int64_t> reading = read(ref.node->text);
    if (!reading.value) return Fault(ref.place, reading.complaint.message, reading.complaint.help);
    return Json(*reading.value);
  }

  std::optional<Json> ReadPair(const YamlRef& ref) {
    const bool list = ref.node->IsSequence();
    if (!list || ref.node->items.size() != 2) {
      const std::string is =
          list ? "has " + std::to_string(ref.node->items.size()) : "is " + DescribeNode(*ref.node);
      return Fault(ref.place, "must be " + DescribeType(field_) + ", and " + is);
    }
    Json pair = Json::array();
    for (const YamlRef& item : ref.node->items) {
      auto value = field_.kind == FieldKind::kBand ? ReadCount(item) : ReadReal(item);
      if (value) pair.push_back(std::move(*value));
    }
    if (pair.size() != 2) return std::nullopt;
    return pair;
  }

  std::optional<Json> ReadBand(const YamlRef& ref) {
    auto band = ReadPair(ref);
    if (band && (*band)[0] >= (*band)[1]) {
      return Fault(ref.place, "[a, b) keeps the pairs from a to b - 1, so a must be below b");
    }
    return band;
  }

  std::optional<Json> ReadWeights(const YamlRef& ref) {
    const auto text = ReadText(path_, ref, faults_);
    if (!text) return std::nullopt;
    if (text->empty() || *text == kCheckpointPrefix) {
      return Fault(ref.place, "must be a folder or checkpoint:JOB, and is " + Quoted(*text));
    }
    return Json(*text);
  }

  std::optional<Json> ReadAscending(const YamlRef& ref) {
    if (!ref.node->IsSequence() || ref.node->items.empty()) {
      const bool empty = ref.node->IsSequence();
      return Fault(ref.place, "must be " + DescribeType(field_) + ", and is " +
                                  (empty ? "an empty list" : DescribeNode(*ref.node)));
    }
    Json values = Json::array();
    for (const YamlRef& item : ref.node->items) {
      auto value = ReadCount(item);
      if (!value) return std::nullopt;
      if (!values.empty() && *value <= values.back()) {
        return Fault(item.place,
                     "must ascend, and has " + value->dump() + " after " + values.back().dump());
      }
      values.push_back(std::move(*value));
    }
    if (field_.kind == FieldKind::kEdges && values.front() != 0) {
      return Fault(ref.place, "must begin with 0, so that the buckets hold everything");
    }
    return values;
  }

  std::optional<Json> ReadPerLayer(const YamlRef& ref) {
    const bool flags = field_.kind == FieldKind::kFlags;
    const std::string wanted = flags ? "0 or 1" : "full_attention or sliding_attention";
    if (!ref.node->IsSequence() || ref.node->items.empty()) {
      return Fault(ref.place, "must be a list with " + wanted + " for each layer");
    }
    Json values = Json::array();
    for (const YamlRef& item : ref.node->items) {
      const std::string text = item.node->IsScalar() ? item.node->text : "";
      const bool known = flags ? text == "0" || text == "1"
                               : text == "full_attention" || text == "sliding_attention";
      if (!known)
        return Fault(item.place,
                     "takes " + wanted + " for each layer, and not " + DescribeNode(*item.node));
      values.push_back(flags ? Json(text == "1") : Json(text));
    }
    return values;
  }

  // The default of a key that the trainer cannot do yet is fine: it changes nothing.
  std::optional<Json> ReadLater(const YamlRef& ref) {
    const bool is_default =
        ref.node->IsScalar() && !ref.node->quoted && ref.node->text == field_.default_text;
    if (is_default) return Json();
    return Fault(ref.place, "is not yet supported");
  }

  const Field& field_;
  const std::string& path_;
  const std::vector<std::string>& corpora_;
  Faults* faults_;
};

}  // namespace

std::optional<Json> ReadValue(const Field& field, const std::string& path, const YamlRef& ref,
                              const std::vector<std::string>& corpora, Faults* faults) {
  return ValueReader(field, path, corpora, faults).Read(ref);
}

std::string RangeFault(const Field& field, const std::string& path, double value,
                       const std::string& written) {
  const bool low = value < field.low || (field.low_open && value == field.low);
  const bool high = value > field.high || (field.high_open && value == field.high);
  if (!low && !high) return "";
  const bool has_low = field.low > -std::numeric_limits<double>::infinity();
  const bool has_high = field.high < std::numeric_limits<double>::infinity();
  std::string range;
  if (has_low && has_high && !field.low_open && !field.high_open) {
    range = "between " + FormatNumber(field.low) + " and " + FormatNumber(field.high);
  } else if (low || !has_high) {
    range = (field.low_open ? "above " : "at least ") + FormatNumber(field.low);
    if (has_high && field.high == 1)
      range += " and " + std::string(field.high_open ? "below 1" : "at most 1");
  } else {
    range = (field.high_open ? "below " : "at most ") + FormatNumber(field.high);
  }
  return path + " must be " + range + ", and is " + written;
}

std::optional<std::string> ReadText(const std::string& path, const YamlRef& ref, Faults* faults) {
  if (!ref.node->IsScalar()) {
    faults->Add(ref.place, path + " must be text, and is " + DescribeNode(*ref.node));
    return std::nullopt;
  }
  if (const auto surprise = SurpriseInYaml11(ref.node->text); surprise && !ref.node->quoted) {
    faults->Add(ref.place, path + ": " + surprise->message, surprise->help);
    return std::nullopt;
  }
  return ref.node->text;
}

bool CheckName(const std::string& what, const std::string& name, bool quoted,
               const TextPlace& place, Faults* faults) {
  if (const auto surprise = SurpriseInYaml11(name); surprise && !quoted) {
    faults->Add(place, what + ": " + surprise->message, surprise->help);
    return false;
  }
  std::string fault;
  if (name.find_first_not_of(' ') == std::string::npos) fault = "is empty";
  if (name.starts_with(' ') || name.ends_with(' ')) fault = "begins or ends with a space";
  if (CharactersIn(name) > kLongestName)
    fault = "is longer than " + std::to_string(kLongestName) + " characters";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) < 0x20) fault = "has a control character";
  }
  if (fault.empty()) return true;
  faults->Add(place, what + " " + Quoted(name) + " " + fault);
  return false;
}

}  // namespace gyre
