#include "trainer/statistics/record.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<double>;

// 7 digits are what a float has, and a third of the text that a double would take.
double Rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.7g", value);
  return std::strtod(text, nullptr);
}

Json JsonOf(double value) { return std::isfinite(value) ? Json(Rounded(value)) : Json(); }
template <typename T>
Json JsonOf(const T& value) {
  return value;
}
template <typename T>
Json JsonOf(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(JsonOf(value));
  return list;
}

std::string TypeOf(int64_t) { return "a whole number of at least 0"; }
std::string TypeOf(int) { return "a whole number of at least 0"; }
std::string TypeOf(double) { return "a number or null"; }
std::string TypeOf(const std::string&) { return "a string"; }
template <typename T>
std::string TypeOf(const std::vector<T>&) {
  return "a list, each of it " + TypeOf(T());
}

template <typename T>
bool Take(const Json& json, T* value) {
  if constexpr (std::is_integral_v<T>) {
    if (!json.is_number_integer()) return false;
    if (json.is_number_unsigned() && !std::in_range<T>(json.get<uint64_t>())) return false;
    if (!json.is_number_unsigned() && json.get<int64_t>() < 0) return false;
    *value = json.get<T>();
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!json.is_number() && !json.is_null()) return false;
    *value = json.is_null() ? std::numeric_limits<T>::quiet_NaN() : json.get<T>();
  } else {
    if (!json.is_string()) return false;
    *value = json.get<T>();
  }
  return true;
}
template <typename T>
bool Take(const Json& json, std::vector<T>* values) {
  if (!json.is_array()) return false;
  values->reserve(json.size());
  for (const Json& item : json) {
    if (!Take(item, &values->emplace_back())) return false;
  }
  return true;
}

bool IsTensor(const std::string& name) { return name == "q" || name == "k" || name == "v"; }
constexpr char kTensorFault[] = "tensor must be q, k or v";

bool SameLengths(const std::vector<Row>& rows, size_t length) {
  for (const Row& row : rows) {
    if (row.size() != length) return false;
  }
  return !rows.empty() && length > 0;
}

// What does not fit together, with its key first, or nothing.
std::string FaultOf(const FrequencyNorms& item) {
  if (!IsTensor(item.tensor)) return kTensorFault;
  const bool fits = SameLengths({item.norms_without_first}, item.norms.size());
  return fits ? "" : "norms and norms_without_first must be of one length, above 0";
}
std::string FaultOf(const LogitShares& item) {
  const bool fits = SameLengths({item.first, item.others}, item.contributions.size());
  return fits ? "" : "contributions, first and others must be of one length, above 0";
}
std::string FaultOf(const HeadScores&) { return ""; }
std::string FaultOf(const TokenNorms& item) {
  if (!IsTensor(item.tensor)) return kTensorFault;
  const bool fits = !item.norms.empty() && SameLengths(item.norms, item.norms[0].size());
  return fits ? "" : "norms must be lists of one length, above 0";
}
std::string FaultOf(const AttentionMap& item) {
  const bool fits = SameLengths(item.weights, item.weights.size());
  return fits ? "" : "weights must be as many lists as each of them has numbers, above 0";
}
std::string FaultOf(const DocumentLosses& item) {
  return item.targets.size() == item.nats.size() ? "" : "targets and nats must be of one length";
}
std::string FaultOf(const StatisticsRecord&) { return ""; }

// Both walk the lists of Fields() below, so that the two directions cannot drift apart; it takes a
// struct by reference for both, and a Writer never changes it.
class Writer {
 public:
  template <typename T>
  void Field(const char* key, const T& value) {
    json_[key] = JsonOf(value);
  }
  template <typename T>
  void List(const char* key, const std::vector<T>& items) {
    if (items.empty()) return;
    Json list = Json::array();
    for (const T& item : items) {
      Writer writer;
      Fields(writer, const_cast<T&>(item));
      list.push_back(std::move(writer.json_));
    }
    json_[key] = std::move(list);
  }
  Json Take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

class Reader {
 public:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  template <typename T>
  void Field(const char* key, T& value) {
    if (!status_.ok()) return;
    seen_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) {
      status_ = InvalidArgument(PathOf(key) + " is missing");
    } else if (!gyre::Take(*found, &value)) {
      status_ = InvalidArgument(PathOf(key) + " must be " + TypeOf(T()));
    }
  }
  template <typename T>
  void List(const char* key, std::vector<T>& items) {
    seen_.insert(key);
    const auto found = json_.find(key);
    if (!status_.ok() || found == json_.end()) return;
    if (!found->is_array()) {
      status_ = InvalidArgument(PathOf(key) + " must be a list of objects");
      return;
    }
    for (size_t i = 0; i < found->size() && status_.ok(); ++i) {
      const std::string path = PathOf(key) + "[" + std::to_string(i) + "]";
      status_ = ReadObject((*found)[i], path, &items.emplace_back());
    }
  }

  template <typename T>
  static Status ReadObject(const Json& json, const std::string& path, T* value) {
    if (!json.is_object()) {
      return InvalidArgument((path.empty() ? "the statistics" : path) + " must be an object");
    }
    Reader reader(json, path);
    Fields(reader, *value);
    GYRE_RETURN_IF_ERROR(reader.status_);
    for (const auto& [key, item] : json.items()) {
      if (!reader.seen_.contains(key)) return InvalidArgument("unknown key " + reader.PathOf(key));
    }
    const std::string fault = FaultOf(*value);
    return fault.empty() ? OkStatus() : InvalidArgument(reader.PathOf(fault));
  }

 private:
  std::string PathOf(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }

  const Json& json_;
  const std::string path_;
  std::set<std::string> seen_;
  Status status_;
};

template <typename T>
void Fields(T& archive, FrequencyNorms& item) {
  archive.Field("layer", item.layer);
  archive.Field("tensor", item.tensor);
  archive.Field("head", item.head);
  archive.Field("norms", item.norms);
  archive.Field("norms_without_first", item.norms_without_first);
}
template <typename T>
void Fields(T& archive, LogitShares& item) {
  archive.Field("layer", item.layer);
  archive.Field("head", item.head);
  archive.Field("contributions", item.contributions);
  archive.Field("first", item.first);
  archive.Field("others", item.others);
}
template <typename T>
void Fields(T& archive, HeadScores& item) {
  archive.Field("layer", item.layer);
  archive.Field("head", item.head);
  archive.Field("diagonal", item.diagonal);
  archive.Field("previous", item.previous);
  archive.Field("first", item.first);
  archive.Field("entropy", item.entropy);
  archive.Field("distance", item.distance);
}
template <typename T>
void Fields(T& archive, TokenNorms& item) {
  archive.Field("layer", item.layer);
  archive.Field("tensor", item.tensor);
  archive.Field("head", item.head);
  archive.Field("norms", item.norms);
}
template <typename T>
void Fields(T& archive, AttentionMap& item) {
  archive.Field("layer", item.layer);
  archive.Field("head", item.head);
  archive.Field("weights", item.weights);
}
template <typename T>
void Fields(T& archive, DocumentLosses& item) {
  archive.Field("set", item.set);
  archive.Field("targets", item.targets);
  archive.Field("nats", item.nats);
}
template <typename T>
void Fields(T& archive, StatisticsRecord& record) {
  archive.Field("step", record.step);
  archive.Field("tokens", record.tokens);
  archive.List("frequency_norms", record.frequency_norms);
  archive.List("logit_shares", record.logit_shares);
  archive.List("head_scores", record.head_scores);
  archive.List("token_norms", record.token_norms);
  archive.List("attention_maps", record.attention_maps);
  archive.List("document_losses", record.document_losses);
}

}  // namespace

nlohmann::ordered_json ToJson(const StatisticsRecord& record) {
  Writer writer;
  Fields(writer, const_cast<StatisticsRecord&>(record));
  return writer.Take();
}

Result<StatisticsRecord> StatisticsRecordFromJson(const nlohmann::ordered_json& json) {
  StatisticsRecord record;
  GYRE_RETURN_IF_ERROR(Reader::ReadObject(json, "", &record));
  return record;
}

}  // namespace gyre
