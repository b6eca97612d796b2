#pragma once

// Reads typed values out of a JSON object that somebody else wrote, and keeps the first fault with
// its path. Values come out as they are or not at all: 1.5 is no whole number, "4" no number.

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace gyre {

class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  /// `path` names the object in messages; `status` gets the first fault. Both outlive this.
  JsonReader(const Json& json, std::string path, Status* status);

  /// False if the key is absent or null: then `value` stays as it was.
  bool Optional(const std::string& key, int* value);
  bool Optional(const std::string& key, double* value);
  bool Optional(const std::string& key, int64_t* value);
  bool Optional(const std::string& key, bool* value);
  bool Optional(const std::string& key, std::string* value);
  bool Optional(const std::string& key, std::vector<int>* values);
  bool Optional(const std::string& key, std::vector<int64_t>* values);
  bool Optional(const std::string& key, std::vector<double>* values);
  bool Optional(const std::string& key, std::vector<std::string>* values);
  bool Optional(const std::string& key, std::vector<std::vector<int>>* rows);
  bool Optional(const std::string& key, std::vector<std::vector<double>>* rows);
  /// The same, but absence is a fault.
  template <typename T>
  void Required(const std::string& key, T* value) {
    if (!Optional(key, value) && status_->ok()) Fail(key, "is missing");
  }
  /// Absent is neither.
  bool IsNull(const std::string& key) const;
  bool Has(const std::string& key) const;  // and is not null
  /// Null if the key is absent or null, or is not an object.
  const Json* Object(const std::string& key);
  const Json* Array(const std::string& key);
  /// A fault if the object has a key that was never asked for.
  void NoOtherKeys() { NoOtherKeys(""); }
  /// The same of keys that begin so.
  void NoOtherKeys(const std::string& prefix);

  std::string PathOf(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }
  void Fail(const std::string& key, const std::string& what);

 private:
  const Json* Find(const std::string& key);
  template <typename T>
  bool Take(const std::string& key, const char* wanted, T* value);

  const Json& json_;
  std::string path_;
  Status* status_;
  std::set<std::string> asked_;
};

}  // namespace gyre
