#include "results/report_facts.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

std::string SqlText(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

std::string TextOf(const QueryValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

int64_t IntOf(const QueryValue& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number == nullptr ? 0 : *number;
}

// "position.theta" -> 10000, in the order of the configuration. Lists are values.
void Flatten(const Json& json, const std::string& path,
             std::vector<std::pair<std::string, std::string>>* values) {
  if (!json.is_object()) {
    values->emplace_back(path, json.is_string() ? json.get<std::string>() : json.dump());
    return;
  }
  for (const auto& [key, value] : json.items()) {
    Flatten(value, path.empty() ? key : path + "." + key, values);
  }
}

// What all have, and alike.
Json Common(const Json& a, const Json& b) {
  Json common = Json::object();
  for (const auto& [key, value] : a.items()) {
    if (!b.contains(key)) continue;
    if (value.is_object() && b[key].is_object()) {
      Json inner = Common(value, b[key]);
      if (!inner.empty()) common[key] = std::move(inner);
    } else if (value == b[key]) {
      common[key] = value;
    }
  }
  return common;
}

struct VariantRow {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
  QueryValue parameters, tokens;
};

// One column a path whose value is not the same everywhere.
QueryTable TabulateVariants(const std::vector<VariantRow>& variants) {
  std::vector<std::string> paths;
  std::map<std::string, std::set<std::string>> seen;
  std::map<std::string, size_t> count;
  for (const VariantRow& variant : variants) {
    for (const auto& [path, value] : variant.values) {
      if (count[path]++ == 0) paths.push_back(path);
      seen[path].insert(value);
    }
  }
  std::erase_if(paths, [&](const std::string& path) {
    return seen[path].size() == 1 && count[path] == variants.size();
  });
  QueryTable table;
  table.columns = {"variant"};
  table.columns.insert(table.columns.end(), paths.begin(), paths.end());
  table.columns.insert(table.columns.end(), {"parameters", "tokens"});
  for (const VariantRow& variant : variants) {
    const std::map<std::string, std::string> values(variant.values.begin(), variant.values.end());
    std::vector<QueryValue> row = {variant.name};
    for (const std::string& path : paths) {
      const auto value = values.find(path);
      row.push_back(value == values.end() ? QueryValue() : QueryValue(value->second));
    }
    row.push_back(variant.parameters);
    row.push_back(variant.tokens);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Status ReadSweep(const AskSql& ask, ReportFacts* facts) {
  GYRE_ASSIGN_OR_RETURN(const QueryTable sweep,
                        ask("SELECT description, question, yaml, file, submitted_by, submitted_at, "
                            "(SELECT id FROM database) FROM sweeps WHERE name = " +
                            SqlText(facts->sweep)));
  if (sweep.rows.empty()) {
    GYRE_ASSIGN_OR_RETURN(const QueryTable names, ask("SELECT name FROM sweeps ORDER BY id"));
    std::string list;
    for (const auto& row : names.rows) list += (list.empty() ? "" : ", ") + TextOf(row[0]);
    return NotFound("there is no sweep '" + facts->sweep + "'; " +
                    (list.empty() ? "there are none" : "there are: " + list));
  }
  const std::vector<QueryValue>& row = sweep.rows.front();
  facts->description = TextOf(row[0]);
  facts->question = TextOf(row[1]);
  facts->yaml = TextOf(row[2]);
  facts->file = TextOf(row[3]);
  facts->submitted_by = TextOf(row[4]);
  facts->submitted_at = TextOf(row[5]);
  facts->database = TextOf(row[6]);
  return OkStatus();
}

Status ReadJobs(const AskSql& ask, const std::string& of_sweep, ReportFacts* facts) {
  GYRE_ASSIGN_OR_RETURN(const QueryTable states,
                        ask("SELECT j.state, count(*), count(j.reused_from), max(j.ended_at) "
                            "FROM jobs j" +
                            of_sweep + " GROUP BY j.state ORDER BY min(j.id)"));
  bool unfinished = false;
  for (const auto& row : states.rows) {
    const std::string state = TextOf(row[0]);
    facts->states.emplace_back(state, static_cast<int>(IntOf(row[1])));
    facts->jobs += static_cast<int>(IntOf(row[1]));
    facts->reused += static_cast<int>(IntOf(row[2]));
    facts->ended_at = std::max(facts->ended_at, TextOf(row[3]));
    unfinished |= state == "QUEUED" || state == "RUNNING";
  }
  if (unfinished) facts->ended_at.clear();
  return OkStatus();
}

Status ReadVariants(const AskSql& ask, ReportFacts* facts) {
  GYRE_ASSIGN_OR_RETURN(
      const QueryTable rows,
      ask("SELECT v.name, v.config, max(j.parameters), max(j.tokens_budget) FROM variants v "
          "JOIN sweeps s ON s.id = v.sweep_id LEFT JOIN jobs j ON j.variant_id = v.id "
          "WHERE s.name = " +
          SqlText(facts->sweep) + " GROUP BY v.id ORDER BY v.id"));
  std::vector<VariantRow> variants;
  Json common;
  for (const auto& row : rows.rows) {
    const Json config = Json::parse(TextOf(row[1]), nullptr, /*allow_exceptions=*/false);
    if (!config.is_object()) {
      return DataLoss("the configuration of variant '" + TextOf(row[0]) + "' is not JSON");
    }
    VariantRow variant{TextOf(row[0]), {}, row[2], row[3]};
    Flatten(config, "", &variant.values);
    common = variants.empty() ? config : Common(common, config);
    variants.push_back(std::move(variant));
  }
  facts->variants = TabulateVariants(variants);
  facts->common = common.is_object() ? common.dump(2) : "{}";
  return OkStatus();
}

}  // namespace

Result<ReportFacts> ReadReportFacts(const std::string& sweep, const AskSql& ask) {
  ReportFacts facts;
  facts.sweep = sweep;
  const std::string of_sweep =
      " JOIN sweeps s ON s.id = j.sweep_id WHERE s.name = " + SqlText(sweep);
  GYRE_RETURN_IF_ERROR(ReadSweep(ask, &facts));
  GYRE_RETURN_IF_ERROR(ReadJobs(ask, of_sweep, &facts));
  GYRE_RETURN_IF_ERROR(ReadVariants(ask, &facts));
  // A training text is a hash, or a JSON list of objects with hashes; validation sets are a JSON
  // object of hashes. Either way the hash stands in the text.
  GYRE_ASSIGN_OR_RETURN(
      facts.texts,
      ask("SELECT d.name AS name, CASE WHEN max(instr(v.train_dataset, d.hash)) > 0 THEN "
          "'training' ELSE 'validation' END AS \"used for\", d.tokens AS tokens, d.documents AS "
          "documents, d.bytes AS bytes, d.tokenizer AS tokenizer, d.license AS license, d.source "
          "AS source, d.hash AS hash FROM datasets d JOIN variants v ON instr(v.train_dataset, "
          "d.hash) > 0 OR instr(v.validation_datasets, d.hash) > 0 JOIN sweeps s ON s.id = "
          "v.sweep_id WHERE s.name = " +
          SqlText(sweep) + " GROUP BY d.hash ORDER BY 2, 1"));
  GYRE_ASSIGN_OR_RETURN(
      facts.machines,
      ask("SELECT w.name AS worker, w.version AS version, a.device AS device, count(*) AS jobs, "
          "avg(a.tokens_per_second) AS \"tokens/s\", max(a.peak_memory_bytes) AS \"peak memory "
          "(bytes)\", a.fingerprint AS \"computed by\" FROM jobs j JOIN attempts a ON a.job_id = "
          "coalesce(j.reused_from, j.id) AND a.state = 'SUCCEEDED' JOIN workers w ON w.id = "
          "a.worker_id" +
          of_sweep + " GROUP BY w.id, a.device, a.fingerprint ORDER BY w.name, a.device"));
  GYRE_ASSIGN_OR_RETURN(
      facts.failures,
      ask("SELECT variant, seed, attempt, attempt_state AS ended, worker, error_code AS code, "
          "error, job_state AS \"job became\" FROM failures WHERE sweep = " +
          SqlText(sweep) + " LIMIT 200"));
  GYRE_ASSIGN_OR_RETURN(
      facts.stopped,
      ask("SELECT v.name AS variant, j.seed AS seed, j.tokens_done AS tokens, "
          "e.details ->> '$.reason' AS why FROM events e JOIN jobs j ON j.id = e.job_id "
          "JOIN variants v ON v.id = j.variant_id JOIN sweeps s ON s.id = e.sweep_id "
          "WHERE e.kind = 'job_stopped_early' AND s.name = " +
          SqlText(sweep) + " ORDER BY j.id LIMIT 200"));
  return facts;
}

}  // namespace gyre
