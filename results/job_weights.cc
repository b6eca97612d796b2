#include "results/job_weights.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <variant>

namespace gyre {
namespace {

constexpr char kSpelling[] = "JOB or SWEEP/VARIANT/SEED, and @STEP for one of its checkpoints";

std::optional<uint64_t> Digits(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value > INT64_MAX) return std::nullopt;
  return value;
}

std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

struct Name {
  std::string where;  // SQL
  std::optional<int64_t> step;
};

Result<Name> ParseName(const std::string& text) {
  Name name;
  std::string_view rest = text;
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    // A sweep that was replaced is called NAME@ID, so an @ within the name is none of ours.
    if (const auto step = Digits(rest.substr(at + 1))) {
      name.step = static_cast<int64_t>(*step);
      rest = rest.substr(0, at);
    }
  }
  const size_t first = rest.find('/'), last = rest.rfind('/');
  if (const auto job = Digits(rest)) {
    name.where = "j.id = " + std::to_string(*job);
    return name;
  }
  const auto seed = last == std::string_view::npos ? std::nullopt : Digits(rest.substr(last + 1));
  if (!seed || first == last) {
    return InvalidArgument("'" + text + "' names no job: " + kSpelling);
  }
  name.where = "s.name = " + Quote(rest.substr(0, first)) +
               " AND v.name = " + Quote(rest.substr(first + 1, last - first - 1)) +
               " AND j.seed = " + std::to_string(*seed);
  return name;
}

std::string Text(const QueryValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}
int64_t Number(const QueryValue& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number == nullptr ? 0 : *number;
}

Result<JobWeights> FindJob(const std::string& text, const Name& name, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable table,
      ask("SELECT coalesce(j.reused_from, j.id), s.name, v.name, j.seed, j.state, j.key, v.config, "
          "v.train_dataset, v.validation_datasets FROM jobs j JOIN variants v ON v.id = "
          "j.variant_id JOIN sweeps s ON s.id = j.sweep_id WHERE " +
          name.where));
  if (table.rows.empty()) return NotFound("there is no job " + text + " in this database");
  const auto& row = table.rows.front();
  JobWeights job;
  job.job_id = Number(row[0]);
  job.sweep = Text(row[1]);
  job.variant = Text(row[2]);
  job.seed = static_cast<uint64_t>(Number(row[3]));
  job.state = Text(row[4]);
  job.key = Text(row[5]);
  job.config = Text(row[6]);
  job.train_dataset = Text(row[7]);
  job.validation_datasets = Text(row[8]);
  return job;
}

}  // namespace

Result<JobWeights> FindJobWeights(const std::string& text, const AskSql& ask) {
  GYRE_ASSIGN_OR_RETURN(const Name name, ParseName(text));
  GYRE_ASSIGN_OR_RETURN(JobWeights job, FindJob(text, name, ask));
  GYRE_ASSIGN_OR_RETURN(const QueryTable table,
                        ask("SELECT hash, step, tokens, bytes FROM checkpoints WHERE job_id = " +
                            std::to_string(job.job_id) + " ORDER BY step DESC, weights_only DESC"));
  std::string there;
  for (const auto& row : table.rows) {
    if (!name.step || Number(row[1]) == *name.step) {
      job.hash = Text(row[0]);
      job.step = Number(row[1]);
      job.tokens = Number(row[2]);
      job.bytes = Number(row[3]);
      return job;
    }
    there += (there.empty() ? "" : ", ") + std::to_string(Number(row[1]));
  }
  const std::string job_text = "job " + std::to_string(job.job_id) + " (" + job.sweep + "/" +
                               job.variant + "/" + std::to_string(job.seed) + ", " + job.state +
                               ")";
  if (there.empty()) {
    return FailedPrecondition(job_text + " has no checkpoint yet; wait until it has one");
  }
  return FailedPrecondition(job_text + " keeps no checkpoint of step " +
                            std::to_string(*name.step) + "; there are those of " + there);
}

}  // namespace gyre
