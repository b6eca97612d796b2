#include "trainer/pretrained/export_folder.h"

#include <cstdio>
#include <vector>

#include "base/files.h"
#include "trainer/model/parameters.h"
#include "trainer/pretrained/weights_object.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

Status WriteWeights(const SafetensorsFile& object, const ParameterLayout& layout,
                    const fs::path& path) {
  std::vector<TensorEntry> entries;
  for (const Parameter& parameter : layout.parameters) {
    const TensorEntry* entry = object.Find(parameter.name);
    if (entry == nullptr || entry->shape != parameter.shape) {
      return FailedPrecondition("the tensor " + parameter.name +
                                " is missing in the weights, or has another shape than the model");
    }
    entries.push_back({parameter.name, parameter.shape});
  }
  // transformers asks for this word.
  GYRE_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                        SafetensorsWriter::Create(path, {{"format", "pt"}}, entries));
  std::vector<float> values;
  for (const Parameter& parameter : layout.parameters) {
    values.resize(static_cast<size_t>(parameter.count));
    GYRE_RETURN_IF_ERROR(object.Read(*object.Find(parameter.name), values));
    GYRE_RETURN_IF_ERROR(writer.Append(values));
  }
  return writer.Finish().status();
}

Status WriteAll(const SafetensorsFile& object, const ParameterLayout& layout,
                const FolderFiles& files, const fs::path& partial, const fs::path& folder) {
  GYRE_RETURN_IF_ERROR(MakeFolders(partial));
  GYRE_RETURN_IF_ERROR(WriteWeights(object, layout, partial / "model.safetensors"));
  for (const auto& [name, content] : files) {
    GYRE_RETURN_IF_ERROR(WriteFileAtomically(partial / name, content));
  }
  if (rename(partial.c_str(), folder.c_str()) != 0) {
    return ErrnoStatus(errno, "cannot rename to " + folder.string());
  }
  return OkStatus();
}

}  // namespace

Status ExportFolder(const fs::path& home, const std::string& hash, const ModelConfig& model,
                    const FolderFiles& files, const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_empty(folder, error)) {
    return FailedPrecondition(folder.string() + " is there and not empty; choose another folder");
  }
  GYRE_ASSIGN_OR_RETURN(const SafetensorsFile object, OpenObject(home, hash));
  GYRE_ASSIGN_OR_RETURN(const ParameterLayout layout, ParameterLayout::Create(model));
  // "out/" has an empty last part.
  const fs::path whole = folder.has_filename() ? folder : folder.parent_path();
  const fs::path partial = whole.string() + ".partial";
  fs::remove_all(partial, error);
  Status status = WriteAll(object, layout, files, partial, whole);
  if (!status.ok()) fs::remove_all(partial, error);
  return status;
}

}  // namespace gyre
