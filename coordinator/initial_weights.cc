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

Status CheckTokenizers(const SweepSpec& spec, const SubmitCall& call, const AskSql& ask) {
  for (const Variant& variant : spec.variants) {
    const std::string& init_from = variant.config.train.init_from;
    if (!ask || !init_from.starts_with(kCheckpointPrefix)) continue;
    // A mixture's column is a list of hashes, all of one tokenizer.
    GYRE_ASSIGN_OR_RETURN(
        const QueryTable trained_on,
        ask("SELECT DISTINCT d.tokenizer FROM checkpoints c JOIN jobs j ON j.id = c.job_id JOIN "
            "variants v ON v.id = j.variant_id JOIN datasets d ON instr(v.train_dataset, d.hash) "
            "WHERE c.hash = '" +
            variant.initial_weights + "'"));
    if (trained_on.rows.size() != 1) continue;
    const auto* theirs = std::get_if<std::string>(&trained_on.rows.front().front());
    for (const auto& [key, dataset] : call.datasets) {
      if (theirs == nullptr || variant.train_dataset.find(dataset.hash) == std::string::npos) {
        continue;
      }
      if (dataset.tokenizer == *theirs) continue;
      return InvalidArgument(
          "sweep " + spec.name + ", variant '" + variant.name + "': the weights of " + init_from +
          " were trained with the tokenizer " + *theirs + ", and its text has " +
          dataset.tokenizer +
          "; say data.tokenizer as that job has it (`gyre export` writes a trained one as "
          "tokenizer.model)");
    }
  }
  return OkStatus();
}

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
