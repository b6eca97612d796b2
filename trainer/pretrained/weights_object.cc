#include "trainer/pretrained/weights_object.h"

#include <cstdio>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/scratch_folder.h"
#include "trainer/model/parameters.h"

namespace gyre {

namespace fs = std::filesystem;

Result<SafetensorsWriter::Written> KeepObject(const fs::path& home, const WriteObject& write) {
  const fs::path objects = home / "objects";
  GYRE_RETURN_IF_ERROR(MakeFolders(objects));
  GYRE_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Create(home, "checkpoint"));
  const fs::path temporary = scratch.path() / "state";
  GYRE_ASSIGN_OR_RETURN(auto written, write(temporary));
  if (rename(temporary.c_str(), (objects / written.hash).c_str()) != 0) {
    return ErrnoStatus(errno, "cannot rename to " + (objects / written.hash).string());
  }
  GYRE_RETURN_IF_ERROR(SyncPath(objects));
  return written;
}

Result<SafetensorsFile> OpenObject(const fs::path& home, const std::string& hash) {
  if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return InvalidArgument("'" + hash + "' is not the hash of a checkpoint (64 hex digits)");
  }
  const fs::path path = home / "objects" / hash;
  auto file = SafetensorsFile::Open(path);
  if (!file.ok()) {
    if (file.status().code() != StatusCode::kNotFound) return file.status();
    return NotFound("there is no checkpoint " + hash + " in " + path.parent_path().string());
  }
  if (Sha256Hex(file->bytes()) != hash) {
    return DataLoss("the checkpoint " + path.string() +
                    " is damaged: its content has another hash");
  }
  return file;
}

Result<SafetensorsWriter::Written> KeepWeights(const fs::path& home,
                                               const PretrainedFolder& folder) {
  const TensorFiles& tensors = folder.weights;
  const auto write = [&](const fs::path& temporary) -> Result<SafetensorsWriter::Written> {
    GYRE_ASSIGN_OR_RETURN(const ParameterLayout layout,
                          ParameterLayout::Create(folder.config.model));
    std::vector<TensorEntry> entries;
    for (const Parameter& parameter : layout.parameters) {
      entries.push_back({parameter.name, parameter.shape});
    }
    GYRE_ASSIGN_OR_RETURN(
        SafetensorsWriter writer,
        SafetensorsWriter::Create(temporary, {{"format", kObjectFormat}, {"content", "weights"}},
                                  entries));
    std::vector<float> values;
    for (const Parameter& parameter : layout.parameters) {
      values.resize(static_cast<size_t>(parameter.count));
      GYRE_RETURN_IF_ERROR(tensors.Read(parameter.name, values));
      GYRE_RETURN_IF_ERROR(CheckFinite(*tensors.Find(parameter.name), 0, values));
      GYRE_RETURN_IF_ERROR(writer.Append(values));
    }
    return writer.Finish();
  };
  const HuggingFaceConfig& config = folder.config;
  if (const Status status = CheckTrainable(config.extras); !status.ok()) {
    return status.WithContext(folder.path.string());
  }
  if (const Status status = CheckTensors(tensors, config.model, config.extras); !status.ok()) {
    return status.WithContext(tensors.path().string());
  }
  auto written = KeepObject(home, write);
  if (!written.ok()) {
    return written.status().WithContext("cannot keep the weights of " + folder.path.string() +
                                        " in " + home.string());
  }
  return written;
}

}  // namespace gyre
