#include "sweeps/spec/source_paths.h"

#include <filesystem>

#include "trainer/data/dataset.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {
namespace {

const int kTrainSource = FieldIndexOrDie("data.train");
const int kValidation = FieldIndexOrDie("data.validation");
const int kTokenizer = FieldIndexOrDie("data.tokenizer");
const int kInitFrom = FieldIndexOrDie("train.init_from");

Json Absolute(int field, const Json& value, const std::string& folder) {
  const auto absolute = [&folder](const std::string& path) {
    return (std::filesystem::path(folder) / path).lexically_normal().string();
  };
  if (field == kTrainSource) return WithPaths(value, absolute);
  if (field == kTokenizer) return TokenizerWithPaths(value, absolute);
  if (field == kInitFrom) {
    const auto& from = value.get_ref<const std::string&>();
    return from.starts_with(kCheckpointPrefix) ? value : Json(absolute(from));
  }
  Json sources = Json::object();
  for (const auto& [name, source] : value.items()) {
    sources[name] = source.is_null() ? source : WithPaths(source, absolute);
  }
  return sources;
}

}  // namespace

Settings WithAbsolutePaths(Settings settings, const ReadContext& context) {
  for (const int field : {kTrainSource, kValidation, kTokenizer, kInitFrom}) {
    const auto found = settings.find(field);
    if (found == settings.end()) continue;
    const Setting& written = *found->second;
    if (!written.usable || written.value.is_null()) continue;
    Setting setting = written;
    setting.value = Absolute(field, written.value, (*context.folders)[written.place.file]);
    context.store->push_back(std::move(setting));
    found->second = &context.store->back();
  }
  return settings;
}

}  // namespace gyre
