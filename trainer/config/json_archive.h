#pragma once

// The two directions between a JobConfig and its JSON. Both walk the list of keys that a struct
// names in its Fields() (job_config.cc), so that they cannot drift apart. For job_config.cc alone.

#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre::config_json {

/// An object with a key for each member.
class Writer {
 public:
  template <typename T>
  void Field(const char* key, T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                  std::is_same_v<T, Json>) {
      json_[key] = value;
    } else {
      Writer inner;
      Fields(inner, value);
      json_[key] = inner.Take();
    }
  }
  void Put(const char* key, Json value) { json_[key] = std::move(value); }
  /// Only where there is something to say.
  template <typename T>
  void OptionalField(const char* key, T& value, const T& usual = {}) {
    if (value != usual) json_[key] = value;
  }
  Json Take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

/// Takes every key that the struct names; the first fault is kept, and Finish() tells it, or the
/// first key that nobody has taken.
class Reader {
 public:
  Reader(const Json& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json_.is_object()) Fail("must be an object");
  }

  template <typename T>
  void Field(const char* key, T& value) {
    const Json* json = Take(key);
    if (json == nullptr) return;
    const std::string path = PathOf(key);
    if constexpr (std::is_same_v<T, Json>) {
      value = *json;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!json->is_boolean()) return Fail(path + " must be true or false");
      value = json->get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!Integer(*json, &value)) Fail(path + " must be a whole number");
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!json->is_number()) return Fail(path + " must be a number");
      value = json->get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json->is_string()) return Fail(path + " must be a string");
      value = json->get<std::string>();
    } else {
      Reader inner(*json, path);
      Fields(inner, value);
      if (Status status = inner.Finish(); !status.ok()) Keep(std::move(status));
    }
  }

  template <typename T>
  static bool Integer(const Json& json, T* value) {
    if (!json.is_number_integer()) return false;
    if (json.is_number_unsigned()) {
      const uint64_t number = json.get<uint64_t>();
      if (!std::in_range<T>(number)) return false;
      *value = static_cast<T>(number);
      return true;
    }
    const int64_t number = json.get<int64_t>();
    if (!std::in_range<T>(number)) return false;
    *value = static_cast<T>(number);
    return true;
  }

  void OptionalField(const char* key, std::string& value, const std::string& usual = {}) {
    value = usual;
    if (json_.is_object() && json_.contains(key)) Field(key, value);
  }
  void OptionalField(const char* key, int& value) {
    value = 0;
    if (json_.is_object() && json_.contains(key)) Field(key, value);
  }
  void OptionalField(const char* key, std::vector<int>& values) {
    values.clear();
    const Json* list = TakeOptional(key);
    if (list == nullptr) return;
    if (!list->is_array()) return Fail(PathOf(key) + " must be a list of whole numbers");
    for (const Json& item : *list) {
      if (!Integer(item, &values.emplace_back())) {
        return Fail(PathOf(key) + " must be a list of whole numbers");
      }
    }
  }

  const Json* TakeOptional(const char* key) {
    return json_.is_object() && json_.contains(key) ? Take(key) : nullptr;
  }

  /// The value of a key that must be there, or null after a failure.
  const Json* Take(const char* key) {
    if (!status_.ok()) return nullptr;
    seen_.insert(key);
    const auto found = json_.find(key);
    if (found == json_.end()) {
      Fail(PathOf(key) + " is missing");
      return nullptr;
    }
    return &*found;
  }
  std::string PathOf(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }

  void Fail(std::string message) {
    if (message == "must be an object")
      message = (path_.empty() ? "the job" : path_) + " " + message;
    Keep(InvalidArgument(std::move(message)));
  }
  void Keep(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  Status Finish() {
    if (!status_.ok()) return status_;
    for (const auto& [key, value] : json_.items()) {
      if (!seen_.contains(key)) return InvalidArgument("unknown key " + PathOf(key));
    }
    return OkStatus();
  }

 private:
  const Json& json_;
  std::string path_;
  std::set<std::string> seen_;
  Status status_;
};

}  // namespace gyre::config_json
