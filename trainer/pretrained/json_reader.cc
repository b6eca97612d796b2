#include "trainer/pretrained/json_reader.h"

#include <utility>

namespace gyre {
namespace {

using Json = JsonReader::Json;

template <typename T>
bool ReadWhole(const Json& json, T* value) {
  if (json.is_number_unsigned() && std::in_range<T>(json.get<uint64_t>())) {
    *value = static_cast<T>(json.get<uint64_t>());
    return true;
  }
  if (json.is_number_integer() && !json.is_number_unsigned() &&
      std::in_range<T>(json.get<int64_t>())) {
    *value = static_cast<T>(json.get<int64_t>());
    return true;
  }
  return false;
}

bool ReadValue(const Json& json, int* value) { return ReadWhole(json, value); }
bool ReadValue(const Json& json, int64_t* value) { return ReadWhole(json, value); }

bool ReadValue(const Json& json, double* value) {
  if (!json.is_number()) return false;
  *value = json.get<double>();
  return true;
}

bool ReadValue(const Json& json, bool* value) {
  if (!json.is_boolean()) return false;
  *value = json.get<bool>();
  return true;
}

bool ReadValue(const Json& json, std::string* value) {
  if (!json.is_string()) return false;
  *value = json.get<std::string>();
  return true;
}

template <typename T>
bool ReadValue(const Json& json, std::vector<T>* values) {
  if (!json.is_array()) return false;
  values->assign(json.size(), T{});
  for (size_t i = 0; i < json.size(); ++i) {
    if (!ReadValue(json[i], &(*values)[i])) return false;
  }
  return true;
}

}  // namespace

JsonReader::JsonReader(const Json& json, std::string path, Status* status)
    : json_(json), path_(std::move(path)), status_(status) {
  if (!json_.is_object() && status_->ok()) {
    *status_ = InvalidArgument((path_.empty() ? "the file" : path_) + " is not a JSON object");
  }
}

void JsonReader::Fail(const std::string& key, const std::string& what) {
  if (status_->ok()) *status_ = InvalidArgument(PathOf(key) + " " + what);
}

const Json* JsonReader::Find(const std::string& key) {
  asked_.insert(key);
  if (!json_.is_object()) return nullptr;
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool JsonReader::IsNull(const std::string& key) const {
  return json_.is_object() && json_.contains(key) && json_[key].is_null();
}

bool JsonReader::Has(const std::string& key) const {
  return json_.is_object() && json_.contains(key) && !json_[key].is_null();
}

template <typename T>
bool JsonReader::Take(const std::string& key, const char* wanted, T* value) {
  const Json* found = Find(key);
  if (found == nullptr) return false;
  if (!ReadValue(*found, value)) Fail(key, std::string("must be ") + wanted);
  return true;
}

bool JsonReader::Optional(const std::string& key, int* value) {
  return Take(key, "a whole number", value);
}
bool JsonReader::Optional(const std::string& key, int64_t* value) {
  return Take(key, "a whole number", value);
}
bool JsonReader::Optional(const std::string& key, double* value) {
  return Take(key, "a number", value);
}
bool JsonReader::Optional(const std::string& key, bool* value) {
  return Take(key, "true or false", value);
}
bool JsonReader::Optional(const std::string& key, std::string* value) {
  return Take(key, "a string", value);
}
bool JsonReader::Optional(const std::string& key, std::vector<int>* values) {
  return Take(key, "a list of whole numbers", values);
}
bool JsonReader::Optional(const std::string& key, std::vector<int64_t>* values) {
  return Take(key, "a list of whole numbers", values);
}
bool JsonReader::Optional(const std::string& key, std::vector<double>* values) {
  return Take(key, "a list of numbers", values);
}
bool JsonReader::Optional(const std::string& key, std::vector<std::string>* values) {
  return Take(key, "a list of strings", values);
}
bool JsonReader::Optional(const std::string& key, std::vector<std::vector<int>>* rows) {
  return Take(key, "rows of whole numbers", rows);
}
bool JsonReader::Optional(const std::string& key, std::vector<std::vector<double>>* rows) {
  return Take(key, "rows of numbers", rows);
}

const Json* JsonReader::Object(const std::string& key) {
  const Json* found = Find(key);
  if (found == nullptr || found->is_object()) return found;
  Fail(key, "must be an object");
  return nullptr;
}

const Json* JsonReader::Array(const std::string& key) {
  const Json* found = Find(key);
  if (found == nullptr || found->is_array()) return found;
  Fail(key, "must be a list");
  return nullptr;
}

void JsonReader::NoOtherKeys(const std::string& prefix) {
  if (!json_.is_object()) return;
  for (const auto& [key, value] : json_.items()) {
    if (key.starts_with(prefix) && !asked_.contains(key)) Fail(key, "is not a key known here");
  }
}

}  // namespace gyre
