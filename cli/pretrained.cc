#include "cli/pretrained.h"

#include <utility>

#include "cli/exit_code.h"
#include "trainer/pretrained/weights_object.h"

namespace gyre {

Result<std::optional<InitialWeights>> LookAtWeights(const std::string& init_from) {
  if (init_from.starts_with(kCheckpointPrefix)) return std::optional<InitialWeights>();
  GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder, PretrainedFolder::Open(init_from));
  HuggingFaceConfig config = SaidOnce(folder.config);
  return std::optional<InitialWeights>(
      InitialWeights{"", std::move(config.model), std::move(config.position)});
}

Result<std::map<std::string, PreparedWeights>> PrepareWeights(
    const std::filesystem::path& home, const std::vector<SweepSpec>& sweeps) {
  std::map<std::string, PreparedWeights> prepared;
  for (const SweepSpec& sweep : sweeps) {
    for (const Variant& variant : sweep.variants) {
      const std::string& from = variant.config.train.init_from;
      if (from.empty() || from.starts_with(kCheckpointPrefix) || prepared.contains(from)) continue;
      GYRE_ASSIGN_OR_RETURN(const PretrainedFolder folder, PretrainedFolder::Open(from));
      Say("reading the weights in " + from);
      GYRE_ASSIGN_OR_RETURN(const auto written, KeepWeights(home, folder));
      HuggingFaceConfig config = SaidOnce(folder.config);
      prepared[from] = {written.hash, written.bytes, std::move(config.model),
                        std::move(config.position)};
    }
  }
  return prepared;
}

}  // namespace gyre
