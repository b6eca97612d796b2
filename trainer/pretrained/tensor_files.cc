#include "trainer/pretrained/tensor_files.h"

#include <set>
#include <utility>

#include "base/files.h"
#include "trainer/model/parameters.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxIndexBytes = size_t{1} << 26;

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// {"weight_map": {tensor: file}}, files as plain names beside the index.
Result<std::map<std::string, std::string>> ReadIndex(const fs::path& path) {
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIndexBytes));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    return InvalidArgument(path.string() + " is no index: it has no \"weight_map\"");
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos) {
      return InvalidArgument(path.string() + ": the file of " + tensor +
                             " must be a name in this folder");
    }
    files[tensor] = name;
  }
  return files;
}

// Old files carry buffers that follow from the configuration.
bool IsDerived(const std::string& name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with("self_attn.masked_bias");
}

Status CheckTiedHead(const TensorFiles& files, const TensorEntry& head) {
  const std::string embedding_name = "model.embed_tokens.weight";
  const TensorEntry* embedding = files.Find(embedding_name);
  if (embedding != nullptr && embedding->shape == head.shape) {
    std::vector<float> a(static_cast<size_t>(ValueCount(head.shape))), b(a.size());
    GYRE_RETURN_IF_ERROR(files.Read(head.name, a));
    GYRE_RETURN_IF_ERROR(files.Read(embedding_name, b));
    if (a == b) return OkStatus();
  }
  return InvalidArgument(
      "tie_word_embeddings is true, and lm_head.weight differs from model.embed_tokens.weight");
}

}  // namespace

Result<TensorFiles> TensorFiles::Open(const fs::path& folder) {
  TensorFiles files;
  files.path_ = folder / "model.safetensors";
  const fs::path index_path = folder / "model.safetensors.index.json";
  std::error_code error;
  if (fs::exists(files.path_, error) || !fs::exists(index_path, error)) {
    GYRE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(files.path_));
    GYRE_RETURN_IF_ERROR(files.Add(std::move(file), files.path_));
    return files;
  }
  files.path_ = index_path;
  GYRE_ASSIGN_OR_RETURN(const auto index, ReadIndex(index_path));
  std::set<std::string> names;
  for (const auto& [tensor, name] : index) names.insert(name);
  for (const std::string& name : names) {
    GYRE_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(folder / name));
    for (const auto& [tensor, file_name] : index) {
      if (file_name == name && file.Find(tensor) == nullptr) {
        return DataLoss((folder / name).string() + " has no tensor " + tensor +
                        ", which the index places there");
      }
    }
    GYRE_RETURN_IF_ERROR(files.Add(std::move(file), folder / name));
  }
  return files;
}

Status TensorFiles::Add(SafetensorsFile file, const fs::path& path) {
  for (const TensorEntry& tensor : file.tensors()) {
    if (file_of_.emplace(tensor.name, files_.size()).second) continue;
    return DataLoss(path.string() + ": the tensor " + tensor.name + " is in two shards");
  }
  files_.push_back(std::move(file));
  return OkStatus();
}

std::vector<TensorEntry> TensorFiles::tensors() const {
  std::vector<TensorEntry> all;
  for (const SafetensorsFile& file : files_) {
    all.insert(all.end(), file.tensors().begin(), file.tensors().end());
  }
  return all;
}

const TensorEntry* TensorFiles::Find(const std::string& name) const {
  const auto found = file_of_.find(name);
  return found == file_of_.end() ? nullptr : files_[found->second].Find(name);
}

Status TensorFiles::Read(const std::string& name, std::span<float> values) const {
  const TensorEntry* entry = Find(name);
  if (entry == nullptr) return NotFound("there is no tensor " + name);
  return files_[file_of_.at(name)].Read(*entry, values);
}

Status CheckTensors(const TensorFiles& files, const ModelConfig& model, const ModelExtras& extras) {
  GYRE_ASSIGN_OR_RETURN(const ParameterLayout layout, ParameterLayout::Create(model));
  std::vector<Parameter> wanted = ExtraParameters(model, extras);
  wanted.insert(wanted.begin(), layout.parameters.begin(), layout.parameters.end());
  std::set<std::string> names;
  for (const Parameter& parameter : wanted) {
    names.insert(parameter.name);
    const TensorEntry* entry = files.Find(parameter.name);
    if (entry == nullptr) return InvalidArgument("has no tensor " + parameter.name);
    if (entry->shape != parameter.shape) {
      return InvalidArgument("tensor " + parameter.name + " has the shape " +
                             ShapeText(entry->shape) + "; config.json says " +
                             ShapeText(parameter.shape));
    }
  }
  for (const TensorEntry& entry : files.tensors()) {
    if (names.contains(entry.name) || IsDerived(entry.name)) continue;
    if (model.tie_word_embeddings && entry.name == "lm_head.weight") {
      GYRE_RETURN_IF_ERROR(CheckTiedHead(files, entry));
      continue;
    }
    return InvalidArgument("tensor " + entry.name + " is none that this model has");
  }
  return OkStatus();
}

}  // namespace gyre
