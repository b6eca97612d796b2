#include "trainer/checkpoint.h"

#include <charconv>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/scratch_folder.h"
#include "trainer/safetensors.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr char kFormat[] = "gyre checkpoint 1";

struct Group {
  TensorKind kind;
  const char* prefix;
};
constexpr Group kGroups[] = {{TensorKind::kWeight, ""},
                             {TensorKind::kFirstMoment, "adamw.m/"},
                             {TensorKind::kSecondMoment, "adamw.v/"}};

std::span<const Group> GroupsOf(bool weights_only) {
  return std::span(kGroups).first(weights_only ? 1 : std::size(kGroups));
}

Result<SafetensorsWriter::Written> WriteTensors(const fs::path& path,
                                                const std::map<std::string, std::string>& metadata,
                                                bool weights_only, const Model& model) {
  std::vector<TensorEntry> entries;
  for (const Group& group : GroupsOf(weights_only)) {
    for (const Tensor& tensor : model.parameters())
      entries.push_back({group.prefix + tensor.name, tensor.shape});
  }
  GYRE_ASSIGN_OR_RETURN(SafetensorsWriter writer,
                        SafetensorsWriter::Create(path, metadata, entries));
  std::vector<float> values;
  for (const Group& group : GroupsOf(weights_only)) {
    for (const Tensor& tensor : model.parameters()) {
      values.resize(static_cast<size_t>(ValueCount(tensor.shape)));
      GYRE_RETURN_IF_ERROR(model.Save(group.kind, tensor.name, values));
      GYRE_RETURN_IF_ERROR(writer.Append(values));
    }
  }
  return writer.Finish();
}

// -1 if it is missing or no number.
int64_t Number(const std::map<std::string, std::string>& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  int64_t value = -1;
  if (found == metadata.end()) return -1;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

Status CheckMetadata(const std::map<std::string, std::string>& metadata, const std::string& hash,
                     const std::string& job_key) {
  const auto has = [&metadata](const std::string& key, const std::string& value) {
    const auto found = metadata.find(key);
    return found != metadata.end() && found->second == value;
  };
  const auto refuse = [&hash](const std::string& why) {
    return FailedPrecondition("cannot resume from checkpoint " + hash + ": " + why);
  };
  if (!has("format", kFormat)) return refuse("it is not a checkpoint of this version of Gyre");
  if (!has("numerics", std::to_string(kNumericsVersion))) {
    return refuse("it was trained with another version of the numerics; start the job anew");
  }
  if (!has("job_key", job_key)) return refuse("it belongs to another job");
  if (!has("content", "state"))
    return refuse("it has the weights only, without the optimizer's state");
  if (Number(metadata, "step") < 0 || Number(metadata, "tokens") < 0) {
    return refuse("it does not say its step");
  }
  return OkStatus();
}

}  // namespace

Result<CheckpointInfo> WriteCheckpoint(const fs::path& home, const CheckpointPlace& place,
                                       bool weights_only, const Model& model) {
  const auto write = [&]() -> Result<SafetensorsWriter::Written> {
    const fs::path objects = home / "objects";
    GYRE_RETURN_IF_ERROR(MakeFolders(objects));
    GYRE_ASSIGN_OR_RETURN(const ScratchFolder scratch, ScratchFolder::Create(home, "checkpoint"));
    const fs::path temporary = scratch.path() / "state";
    GYRE_ASSIGN_OR_RETURN(auto written,
                          WriteTensors(temporary,
                                       {{"format", kFormat},
                                        {"content", weights_only ? "weights" : "state"},
                                        {"job_key", place.job_key},
                                        {"step", std::to_string(place.step)},
                                        {"tokens", std::to_string(place.tokens)},
                                        {"numerics", std::to_string(kNumericsVersion)}},
                                       weights_only, model));
    if (rename(temporary.c_str(), (objects / written.hash).c_str()) != 0) {
      return ErrnoStatus(errno, "cannot rename to " + (objects / written.hash).string());
    }
    GYRE_RETURN_IF_ERROR(SyncPath(objects));
    return written;
  };
  const Result<SafetensorsWriter::Written> written = write();
  if (!written.ok()) {
    return written.status().WithContext("cannot keep a checkpoint in " + home.string());
  }
  return CheckpointInfo{written->hash, written->bytes, place.step, place.tokens, weights_only};
}

Result<CheckpointPlace> LoadCheckpoint(const fs::path& home, const std::string& hash,
                                       const std::string& job_key, Model* model) {
  if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return InvalidArgument("'" + hash + "' is not the hash of a checkpoint (64 hex digits)");
  }
  const fs::path path = home / "objects" / hash;
  const auto file = SafetensorsFile::Open(path);
  if (!file.ok()) {
    if (file.status().code() != StatusCode::kNotFound) return file.status();
    return NotFound("there is no checkpoint " + hash + " in " + path.parent_path().string());
  }
  if (Sha256Hex(file->bytes()) != hash) {
    return DataLoss("the checkpoint " + path.string() +
                    " is damaged: its content has another hash");
  }
  GYRE_RETURN_IF_ERROR(CheckMetadata(file->metadata(), hash, job_key));
  std::vector<float> values;
  for (const Group& group : kGroups) {
    for (const Tensor& tensor : model->parameters()) {
      const TensorEntry* entry = file->Find(group.prefix + tensor.name);
      if (entry == nullptr || entry->shape != tensor.shape) {
        return FailedPrecondition("cannot resume from checkpoint " + hash + ": the tensor " +
                                  group.prefix + tensor.name +
                                  " is missing or has another shape than this job's model");
      }
      values.resize(static_cast<size_t>(ValueCount(tensor.shape)));
      GYRE_RETURN_IF_ERROR(file->Read(*entry, values));
      GYRE_RETURN_IF_ERROR(model->Load(group.kind, tensor.name, values));
    }
  }
  return CheckpointPlace{job_key, Number(file->metadata(), "step"),
                         Number(file->metadata(), "tokens")};
}

}  // namespace gyre
