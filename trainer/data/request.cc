#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "trainer/data/dataset.h"
#include "trainer/data/task_text.h"

namespace gyre {
namespace {

// Metric names are NAME/quantity[@context], so a name has neither '/' nor '@' nor spaces.
std::string MetricName(std::string text) {
  for (char& c : text) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    if (!kept) c = '-';
  }
  return text;
}

DatasetRequest WithSource(const DataConfig& data, const Json& source, const std::string& part) {
  DatasetRequest request;
  request.source = source.is_array() && source.size() == 1 ? source.front() : source;
  request.part = part;
  request.tokenizer = data.tokenizer.is_null() ? Json("bytes") : data.tokenizer;
  request.holdout = data.holdout;
  if (request.source.is_array()) {
    for (Json& item : request.source) {
      if (IsTaskSource(item)) item = WithTaskLength(item, data.context);
    }
  }
  if (IsTaskSource(request.source)) request.source = WithTaskLength(request.source, data.context);
  if (!request.source.is_string()) return request;
  const std::string text = request.source.get<std::string>();
  for (const std::string_view named : {"train", "validation", "all"}) {
    const std::string suffix = "/" + std::string(named);
    if (text.starts_with("corpus:") && text.ends_with(suffix)) {
      request.source = text.substr(0, text.size() - suffix.size());
      request.part = named;
    }
  }
  return request;
}

// A tokenizer that is to be trained says what on, so that every request stands for itself.
Json TokenizerFor(const DataConfig& data, const std::vector<WeightedRequest>& train) {
  const bool trained = data.tokenizer.is_object() && data.tokenizer.contains("train");
  if (!trained || data.tokenizer.contains("on")) return data.tokenizer;
  Json on = Json::array();
  for (const WeightedRequest& text : train) {
    on.push_back(
        {{"source", text.request.source}, {"part", text.request.part}, {"weight", text.weight}});
  }
  Json tokenizer = data.tokenizer;
  tokenizer["on"] = std::move(on);
  tokenizer["holdout"] = data.holdout;
  return tokenizer;
}

std::string UnusedName(const std::string& name, const JobDatasetRequests& requests) {
  const auto taken = [&requests](const std::string& wanted) {
    return std::any_of(requests.validation.begin(), requests.validation.end(),
                       [&wanted](const auto& set) { return set.first == wanted; });
  };
  std::string unused = name;
  for (int n = 2; taken(unused); ++n) unused = name + "-" + std::to_string(n);
  return unused;
}

}  // namespace

std::string DatasetRequest::Key() const {
  Json key;
  key["source"] = source.is_array() && source.size() == 1 ? source.front() : source;
  key["part"] = part;
  key["tokenizer"] = tokenizer.is_null() ? Json("bytes") : tokenizer;
  key["holdout"] = holdout;
  return key.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<DatasetRequest> DatasetRequest::FromKey(const std::string& key) {
  const Json json = Json::parse(key, nullptr, false);
  const auto has = [&json](const char* name) { return json.is_object() && json.contains(name); };
  if (!has("source") || !has("tokenizer") || !has("part") || !json["part"].is_string() ||
      !has("holdout") || !json["holdout"].is_number()) {
    return InvalidArgument("not the key of a data set request: " + key);
  }
  return DatasetRequest{.source = json["source"],
                        .part = json["part"].get<std::string>(),
                        .tokenizer = json["tokenizer"],
                        .holdout = json["holdout"].get<double>()};
}

Json ToJson(const DatasetInfo& info) {
  return {{"name", info.name},           {"hash", info.hash},       {"tokens", info.tokens},
          {"documents", info.documents}, {"bytes", info.bytes},     {"vocab_size", info.vocab_size},
          {"tokenizer", info.tokenizer}, {"license", info.license}, {"source", info.source}};
}

Result<DatasetInfo> DatasetInfoFromJson(const Json& json) {
  if (!json.is_object()) return InvalidArgument("a data set's description must be a JSON object");
  DatasetInfo info;
  try {
    json.at("name").get_to(info.name);
    json.at("hash").get_to(info.hash);
    json.at("tokens").get_to(info.tokens);
    json.at("documents").get_to(info.documents);
    json.at("bytes").get_to(info.bytes);
    json.at("vocab_size").get_to(info.vocab_size);
    json.at("tokenizer").get_to(info.tokenizer);
    json.at("license").get_to(info.license);
    json.at("source").get_to(info.source);
  } catch (const Json::exception& error) {
    return InvalidArgument(std::string("a data set's description is not readable: ") +
                           error.what());
  }
  if (info.tokens < 0 || info.documents < 0 || info.bytes < 0 || info.vocab_size < 1) {
    return InvalidArgument("a data set's description has a negative size: " + json.dump());
  }
  return info;
}

std::string DefaultValidationName(const Json& train) {
  if (IsTaskSource(train)) return MetricName(WithTaskLength(train, 0)["task"]) + "-text";
  if (train.is_object() && train.contains("path")) return DefaultValidationName(train["path"]);
  if (!train.is_string()) return "validation";
  const std::string text = train.get<std::string>();
  if (text.starts_with("corpus:")) {
    const std::string name = text.substr(7);
    return MetricName(name.substr(0, name.find('/')));
  }
  if (text.find_first_of("*?[") != std::string::npos) return "validation";
  std::filesystem::path path = std::filesystem::path(text).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();  // "texts/"
  std::string stem = path.stem().string();
  if (path.extension() == ".gz" || path.extension() == ".zst") {
    stem = std::filesystem::path(stem).stem().string();
  }
  return stem.empty() || stem == "." || stem == ".." || stem == "train" ? "validation"
                                                                        : MetricName(stem);
}

std::vector<WeightedSource> TrainSourcesOf(const Json& train) {
  const bool weighted = train.is_array() && !train.empty() && train.front().is_object() &&
                        train.front().contains("source");
  if (!weighted) return {{train, 1}};
  std::vector<WeightedSource> sources;
  double sum = 0;
  for (const Json& item : train) {
    if (!item.is_object()) continue;
    const Json weight = item.value("weight", Json());
    sources.push_back(
        {item.value("source", Json()), weight.is_number() ? weight.get<double>() : 1});
    sum += sources.back().weight;
  }
  // Nine digits: 7 and 0.7 of as much come to the same share, and no share is 0.
  for (WeightedSource& source : sources) {
    source.weight = std::max(std::round(source.weight / sum * 1e9), 1.0) / 1e9;
  }
  return sources;
}

Json WithPaths(const Json& source, const std::function<std::string(const std::string&)>& change) {
  if (source.is_string()) {
    const std::string text = source.get<std::string>();
    const bool named = text.starts_with("corpus:") || text.starts_with(kTaskPrefix);
    return named ? source : Json(change(text));
  }
  Json changed = source;
  if (source.is_array()) {
    for (Json& item : changed) item = WithPaths(item, change);
  } else if (source.is_object()) {
    for (const char* key : {"path", "source"}) {
      if (source.contains(key)) changed[key] = WithPaths(source[key], change);
    }
  }
  return changed;
}

JobDatasetRequests RequestsOf(const DataConfig& data) {
  JobDatasetRequests requests;
  for (const WeightedSource& text : TrainSourcesOf(data.train)) {
    requests.train.push_back({WithSource(data, text.source, "train"), text.weight});
  }
  DataConfig whole = data;
  whole.tokenizer = TokenizerFor(data, requests.train);
  for (WeightedRequest& text : requests.train) {
    if (!whole.tokenizer.is_null()) text.request.tokenizer = whole.tokenizer;
  }
  if (!data.validation.is_object() || data.validation.empty()) {
    for (const WeightedRequest& text : requests.train) {
      const Json& source = text.request.source;
      requests.validation.emplace_back(UnusedName(DefaultValidationName(source), requests),
                                       WithSource(whole, source, "validation"));
    }
    return requests;
  }
  for (const auto& [name, source] : data.validation.items()) {
    DatasetRequest request = WithSource(whole, source, "all");
    for (const WeightedRequest& text : requests.train) {
      if (request.part == "all" && request.source == text.request.source) {
        request.part = "validation";
      }
    }
    requests.validation.emplace_back(name, std::move(request));
  }
  return requests;
}

}  // namespace gyre
