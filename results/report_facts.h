#pragma once

// What a report says of a sweep beside its comparison and its plots: question, configuration and
// provenance, asked for in SQL. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "results/job_weights.h"
#include "results/query.h"

namespace gyre {

struct ReportFacts {
  std::string sweep, description, question;
  std::string yaml, file;  // as it was submitted
  std::string submitted_by, submitted_at;
  std::string ended_at;      // of the last job; empty while there is work to do
  std::string database;      // its id
  int jobs = 0, reused = 0;  // reused: trained by another job, here or in another sweep
  std::vector<std::pair<std::string, int>> states;  // e.g. {"SUCCEEDED", 21}; none is zero
  QueryTable variants;  // a row each: what its configuration has of its own, parameters, tokens
  std::string common;   // JSON: what the configurations of all variants share
  QueryTable texts;     // the data sets it was trained and validated on
  QueryTable machines;  // which worker trained how many jobs on what, with which libraries
  QueryTable failures;  // attempts that ended badly
  QueryTable stopped;   // jobs that were stopped early, and why
};

/// NOT_FOUND: no such sweep; the message lists those there are.
Result<ReportFacts> ReadReportFacts(const std::string& sweep, const AskSql& ask);

}  // namespace gyre
