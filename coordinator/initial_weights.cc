#include "coordinator/initial_weights.h"

#include <string>
#include <utility>

namespace gyre {
namespace {

using Found = Result<std::optional<InitialWeights>>;

Found WeightsOf(const std::string& hash, const std::string& config_json, int64_t tokens) {
  const Json json = Json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return InvalidArgument("its configuration is not JSON");
  GYRE_ASSIGN_OR_RETURN(const JobConfig config, JobConfigFromJson(json));
  InitialWeights weights{hash, config.model, PositionInForce(config.position, tokens)};
  weights.position.switches.clear();  // those still to come were that job's own
  return std::optional<InitialWeights>(std::move(weights));
}

}  // namespace

InitialWeightsOf InitialWeightsFor(const SubmitCall& call, AskSql ask) {
  return [&call, ask = std::move(ask)](const std::string& init_from) -> Found {
    if (!init_from.starts_with(kCheckpointPrefix)) {
      const auto sent = call.initial_weights.find(init_from);
      if (sent == call.initial_weights.end()) {
        return FailedPrecondition("the weights in " + init_from +
                                  " did not come with the submission; `gyre submit` sends them");
      }
      return WeightsOf(sent->second.hash, sent->second.config, 0);
    }
    if (!ask) return FailedPrecondition("there is no database to look " + init_from + " up in");
    GYRE_ASSIGN_OR_RETURN(
        const JobWeights job,
        FindJobWeights(init_from.substr(std::string(kCheckpointPrefix).size()), ask));
    return WeightsOf(job.hash, job.config, job.tokens);
  };
}

}  // namespace gyre
