#include "trainer/checkpoint.h"

#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "trainer/pretrained/weights_object.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

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
  if (!has("format", kObjectFormat))
    return refuse("it is not a checkpoint of this version of Gyre");
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

// INVALID_ARGUMENT: the first tensor that does not fit.
Status LoadGroup(const SafetensorsFile& file, const Group& group, Model* model) {
  std::vector<float> values;
  for (const Tensor& tensor : model->parameters()) {
    const TensorEntry* entry = file.Find(group.prefix + tensor.name);
    if (entry == nullptr || entry->shape != tensor.shape) {
      return InvalidArgument("the tensor " + (group.prefix + tensor.name) +
                             " is missing or has another shape than this job's model");
    }
    values.resize(static_cast<size_t>(ValueCount(tensor.shape)));
    GYRE_RETURN_IF_ERROR(file.Read(*entry, values));
    GYRE_RETURN_IF_ERROR(model->Load(group.kind, tensor.name, values));
  }
  return OkStatus();
}

}  // namespace

Result<CheckpointInfo> WriteCheckpoint(const fs::path& home, const CheckpointPlace& place,
                                       bool weights_only, const Model& model) {
  const auto written = KeepObject(home, [&](const fs::path& temporary) {
    return WriteTensors(temporary,
                        {{"format", kObjectFormat},
                         {"content", weights_only ? "weights" : "state"},
                         {"job_key", place.job_key},
                         {"step", std::to_string(place.step)},
                         {"tokens", std::to_string(place.tokens)},
                         {"numerics", std::to_string(kNumericsVersion)}},
                        weights_only, model);
  });
  if (!written.ok()) {
    return written.status().WithContext("cannot keep a checkpoint in " + home.string());
  }
  return CheckpointInfo{written->hash, written->bytes, place.step, place.tokens, weights_only};
}

Result<CheckpointPlace> LoadCheckpoint(const fs::path& home, const std::string& hash,
                                       const std::string& job_key, Model* model) {
  const auto file = OpenObject(home, hash);
  if (!file.ok()) return file.status();
  GYRE_RETURN_IF_ERROR(CheckMetadata(file->metadata(), hash, job_key));
  for (const Group& group : kGroups) {
    const Status status = LoadGroup(*file, group, model);
    if (!status.ok()) {
      return FailedPrecondition("cannot resume from checkpoint " + hash + ": " + status.message());
    }
  }
  return CheckpointPlace{job_key, Number(file->metadata(), "step"),
                         Number(file->metadata(), "tokens")};
}

Status LoadInitialWeights(const fs::path& home, const std::string& hash, Model* model) {
  const auto file = OpenObject(home, hash);
  if (!file.ok()) return file.status().WithContext("the initial weights");
  const auto found = file->metadata().find("format");
  if (found == file->metadata().end() || found->second != kObjectFormat) {
    return InvalidArgument("the initial weights " + hash + " are not of this version of Gyre");
  }
  return LoadGroup(*file, kGroups[0], model).WithContext("the initial weights " + hash);
}

}  // namespace gyre
