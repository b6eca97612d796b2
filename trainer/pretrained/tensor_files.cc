#include "trainer/pretrained/tensor_files.h"

#include <set>
#include <utility>

#include "base/files.h"
#include "trainer/model/parameters.h"
#include "trainer/pretrained/safetensors.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxIndexBytes = size_t{1} << 26;

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

// Row by row, so that the matrices need not be in memory.
Status CheckTiedHead(const TensorFiles& files, const TensorEntry& head) {
  const std::string embedding_name = "model.embed_tokens.weight";
  const TensorEntry* embedding = files.Find(embedding_name);
  bool same = embedding != nullptr && embedding->shape == head.shape && head.shape.size() == 2;
  std::vector<float> a(same ? static_cast<size_t>(head.shape[1]) : 0), b(a.size());
  for (int64_t row = 0; same && row < head.shape[0]; ++row) {
    GYRE_RETURN_IF_ERROR(files.ReadRows(head.name, row, 1, a));
    GYRE_RETURN_IF_ERROR(files.ReadRows(embedding_name, row, 1, b));
    same = a == b;
  }
  if (same) return OkStatus();
  return InvalidArgument(
      "tie_word_embeddings is true, and lm_head.weight differs from model.embed_tokens.weight");
}

// Of a model that also sees images: the decoder's tensors under the names that it has alone, in the
// order of names in which transformers 4 and 5 write them. Else nothing changes.
Status KeepDecoder(MappedTensors* tensors) {
  return tensors->Change([](TensorEntry* tensor) {
    for (const auto& [prefix, own] : {std::pair("language_model.model.", "model."),
                                      std::pair("model.language_model.", "model."),
                                      std::pair("language_model.lm_head.", "lm_head.")}) {
      if (!tensor->name.starts_with(prefix)) continue;
      tensor->name = own + tensor->name.substr(std::string_view(prefix).size());
      return true;
    }
    for (const char* other : {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                              "model.multi_modal_projector."}) {
      if (tensor->name.starts_with(other)) return false;
    }
    return true;
  });
}

}  // namespace

Result<TensorFiles> TensorFiles::Open(const fs::path& folder) {
  TensorFiles files;
  files.path_ = folder / "model.safetensors";
  const fs::path index_path = folder / "model.safetensors.index.json";
  std::error_code error;
  if (fs::exists(files.path_, error) || !fs::exists(index_path, error)) {
    auto file = SafetensorsFile::Open(files.path_);
    if (!file.ok() && file.status().code() == StatusCode::kNotFound &&
        fs::exists(folder / "pytorch_model.bin", error)) {
      return NotFound(file.status().message() +
                      "; pytorch_model.bin is not read (save the model with safetensors)");
    }
    GYRE_RETURN_IF_ERROR(file.status());
    GYRE_RETURN_IF_ERROR(files.Add(std::move(*file).TakeContents(), files.path_));
    return files;
  }
  files.path_ = index_path;
  GYRE_ASSIGN_OR_RETURN(const auto index, ReadIndex(index_path));
  std::set<std::string> names;
  for (const auto& [tensor, name] : index) names.insert(name);
  for (const std::string& name : names) {
    auto opened = SafetensorsFile::Open(folder / name);
    if (opened.status().code() == StatusCode::kNotFound) {
      return NotFound(opened.status().message() + "; " + index_path.string() + " names it");
    }
    GYRE_ASSIGN_OR_RETURN(SafetensorsFile file, std::move(opened));
    for (const auto& [tensor, file_name] : index) {
      if (file_name == name && file.Find(tensor) == nullptr) {
        return DataLoss((folder / name).string() + " has no tensor " + tensor +
                        ", which the index places there");
      }
    }
    GYRE_RETURN_IF_ERROR(files.Add(std::move(file).TakeContents(), folder / name));
  }
  return files;
}

Result<TensorFiles> TensorFiles::Of(const fs::path& path, MappedTensors tensors) {
  TensorFiles files;
  files.path_ = path;
  GYRE_RETURN_IF_ERROR(files.Add(std::move(tensors), path));
  return files;
}

Status TensorFiles::Add(MappedTensors file, const fs::path& path) {
  if (const Status status = KeepDecoder(&file); !status.ok()) {
    return status.WithContext(path.string());
  }
  for (const TensorEntry& tensor : file.tensors()) {
    if (file_of_.emplace(tensor.name, files_.size()).second) continue;
    return DataLoss(path.string() + ": the tensor " + tensor.name + " is in two shards");
  }
  files_.push_back(std::move(file));
  return OkStatus();
}

std::vector<TensorEntry> TensorFiles::tensors() const {
  std::vector<TensorEntry> all;
  for (const MappedTensors& file : files_) {
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
  if (static_cast<int64_t>(values.size()) != ValueCount(entry->shape)) {
    return InvalidArgument("tensor " + name + " has the shape " + ShapeText(entry->shape) +
                           ", not " + std::to_string(values.size()) + " values");
  }
  return files_[file_of_.at(name)].Read(*entry, 0, values);
}

Status TensorFiles::ReadRows(const std::string& name, int64_t first_row, int64_t rows,
                             std::span<float> values) const {
  const TensorEntry* entry = Find(name);
  if (entry == nullptr) return NotFound("there is no tensor " + name);
  const int64_t count = entry->shape.empty() ? 0 : entry->shape[0];
  const int64_t row = count > 0 ? ValueCount(entry->shape) / count : 0;
  if (first_row < 0 || rows < 0 || first_row > count || rows > count - first_row ||
      static_cast<int64_t>(values.size()) != rows * row) {
    return InvalidArgument("tensor " + name + " has the shape " + ShapeText(entry->shape) +
                           ": not " + std::to_string(rows) + " rows from row " +
                           std::to_string(first_row) + " on in " + std::to_string(values.size()) +
                           " values");
  }
  return files_[file_of_.at(name)].Read(*entry, first_row * row, values);
}

void TensorFiles::DropPages() const {
  for (const MappedTensors& file : files_) file.DropPages();
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
                             ShapeText(entry->shape) + "; the configuration says " +
                             ShapeText(parameter.shape));
    }
    GYRE_RETURN_IF_ERROR(CheckReadable(*entry));
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
