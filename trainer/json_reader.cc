#include "trainer/json_reader.h"

#include <utility>

namespace gyre {
namespace {

using Json = JsonReader::Json;

bool ReadInt(const Json& json, int* value) {
  if (json.is_number_unsigned() && std::in_range<int>(json.get<uint64_t>())) {
    *value = static_cast<int>(json.get<uint64_t>());
    return true;
  }
  if (json.is_number_integer() && !json.is_number_unsigned() &&
      std::in_range<int>(json.get<int64_t>())) {
    *value = static_cast<int>(json.get<int64_t>());
    return true;
  }
  return false;
}

bool ReadDouble(const Json& json, double* value) {
  if (!json.is_number()) return false;
  *value = json.get<double>();
  return true;
}

bool ReadBool(const Json& json, bool* value) {
  if (!json.is_boolean()) return false;
  *value = json.get<bool>();
  return true;
}

bool ReadString(const Json& json, std::string* value) {
  if (!json.is_string()) return false;
  *value = json.get<std::string>();
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

template <typename T>
bool JsonReader::Take(const std::string& key, bool (*read)(const Json&, T*), const char* wanted,
                      T* value) {
  const Json* found = Find(key);
  if (found == nullptr) return false;
  if (!read(*found, value)) Fail(key, std::string("must be ") + wanted);
  return true;
}

template <typename T>
bool JsonReader::TakeAll(const std::string& key, bool (*read)(const Json&, T*), const char* wanted,
                         std::vector<T>* values) {
  const Json* found = Array(key);
  if (found == nullptr) return false;
  values->clear();
  for (const Json& item : *found) {
    T value{};
    if (!read(item, &value)) Fail(key, std::string("must be a list of ") + wanted);
    values->push_back(std::move(value));
  }
  return true;
}

bool JsonReader::Optional(const std::string& key, int* value) {
  return Take(key, ReadInt, "a whole number", value);
}
bool JsonReader::Optional(const std::string& key, double* value) {
  return Take(key, ReadDouble, "a number", value);
}
bool JsonReader::Optional(const std::string& key, bool* value) {
  return Take(key, ReadBool, "true or false", value);
}
bool JsonReader::Optional(const std::string& key, std::string* value) {
  return Take(key, ReadString, "a string", value);
}
bool JsonReader::Optional(const std::string& key, std::vector<int>* values) {
  return TakeAll(key, ReadInt, "whole numbers", values);
}
bool JsonReader::Optional(const std::string& key, std::vector<std::string>* values) {
  return TakeAll(key, ReadString, "strings", values);
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

void JsonReader::NoOtherKeys() {
  if (!json_.is_object()) return;
  for (const auto& [key, value] : json_.items()) {
    if (!asked_.contains(key)) Fail(key, "is not a key known here");
  }
}

}  // namespace gyre
