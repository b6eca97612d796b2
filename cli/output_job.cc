#include "cli/output_job.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/output_table.h"
#include "cli/text_width.h"
#include "results/numbers.h"

namespace gyre {
namespace {

using Json = nlohmann::ordered_json;

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "2026-11-30T12:00:03.123Z" for people.
std::string Readable(const std::string& utc) {
  if (utc.size() < 19) return utc;
  return utc.substr(0, 10) + " " + utc.substr(11, 8) + " UTC";
}

/// Seconds since 1970; -1: no time.
int64_t Seconds(const std::string& utc) {
  std::tm time{};
  const int fields = std::sscanf(utc.c_str(), "%d-%d-%dT%d:%d:%d", &time.tm_year, &time.tm_mon,
                                 &time.tm_mday, &time.tm_hour, &time.tm_min, &time.tm_sec);
  if (fields != 6) return -1;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  return timegm(&time);
}

std::string Took(const AttemptReport& attempt) {
  const int64_t begin = Seconds(attempt.started_at), end = Seconds(attempt.ended_at);
  return begin < 0 || end < begin ? "" : FormatDuration(end - begin);
}

std::string Gib(int64_t bytes) {
  return FormatFixed(static_cast<double>(bytes) / (1 << 30), 2) + " GiB";
}

QueryTable AttemptsTable(const JobReport& job) {
  QueryTable table;
  table.columns = {"attempt",
                   "worker",
                   "device",
                   "state",
                   "started_at",
                   "ended_at",
                   "resumed_from_step",
                   "error_code",
                   "error",
                   "peak_memory_bytes",
                   "after"};
  for (const AttemptReport& attempt : job.attempts) {
    table.rows.push_back({int64_t{attempt.number}, attempt.worker, attempt.device, attempt.state,
                          attempt.started_at, attempt.ended_at, attempt.resumed_from_step,
                          attempt.error_code, attempt.error, attempt.peak_memory_bytes,
                          attempt.after});
  }
  return table;
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ToJson(const AttemptReport& attempt) {
  Json json = {{"attempt", attempt.number},
               {"worker", attempt.worker},
               {"device", attempt.device},
               {"state", attempt.state},
               {"started_at", attempt.started_at},
               {"ended_at", TextOrNull(attempt.ended_at)},
               {"resumed_from_step", attempt.resumed_from_step},
               {"error_code", TextOrNull(attempt.error_code)},
               {"error", TextOrNull(attempt.error)},
               {"peak_memory_bytes", nullptr},
               {"tokens_per_second", nullptr},
               {"after", TextOrNull(attempt.after)},
               {"suspected_at", TextOrNull(attempt.suspected_at)}};
  if (attempt.peak_memory_bytes > 0) json["peak_memory_bytes"] = attempt.peak_memory_bytes;
  if (attempt.tokens_per_second > 0) json["tokens_per_second"] = attempt.tokens_per_second;
  return json;
}

std::string ToJson(const JobReport& job) {
  Json json = {{"job", job.id},
               {"sweep", job.sweep},
               {"variant", job.variant},
               {"seed", job.seed},
               {"state", job.state},
               {"reused_from", job.reused_from > 0 ? Json(job.reused_from) : Json(nullptr)},
               {"queued_at", job.queued_at},
               {"ended_at", TextOrNull(job.ended_at)},
               {"tokens_done", job.tokens_done},
               {"tokens_budget", job.tokens_budget},
               {"error", TextOrNull(job.error)},
               {"why", job.why},
               {"next", job.next},
               {"warnings", job.warnings},
               {"attempts", Json::array()}};
  for (const AttemptReport& attempt : job.attempts) json["attempts"].push_back(ToJson(attempt));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Tokens(int64_t count) { return FormatCount(static_cast<double>(count)); }

}  // namespace

std::string AttemptEnding(const AttemptReport& attempt) {
  std::string text = attempt.state;
  if (const std::string took = Took(attempt); !took.empty()) text += " after " + took;
  if (!attempt.error.empty()) text += ": " + Visible(FirstLine(attempt.error));
  return text;
}

std::string AttemptHeader(const JobReport& job, const AttemptReport& attempt) {
  std::string text = "== attempt " + std::to_string(attempt.number) + " of job " +
                     std::to_string(job.id) + ": " + Visible(attempt.worker) + ", " +
                     Visible(attempt.device) + ", " + Readable(attempt.started_at);
  if (attempt.resumed_from_step > 0) {
    text += ", from step " + std::to_string(attempt.resumed_from_step);
  }
  if (!attempt.suspected_at.empty()) text += "; silent since " + Readable(attempt.suspected_at);
  return attempt.ended() ? text + "; " + AttemptEnding(attempt) : text;
}

std::string RenderJob(const JobReport& job, OutputFormat format, int width) {
  if (format == OutputFormat::kJson) return ToJson(job);
  if (format != OutputFormat::kTable) return RenderQueryTable(AttemptsTable(job), format, width);
  std::string text = "job " + std::to_string(job.id) + ": " + Visible(job.variant) + " seed " +
                     std::to_string(job.seed) + " of " + Visible(job.sweep) + ", " + job.state +
                     ", " + Tokens(job.tokens_done) + " of " + Tokens(job.tokens_budget) +
                     " tokens\n\n";
  text += Wrap("why: " + Visible(job.why), width, 5) + "\n";
  for (const std::string& next : job.next) {
    text += Wrap("do:  " + Visible(next), width, 5) + "\n";
  }
  for (const std::string& warning : job.warnings) {
    text += Wrap("warning: " + Visible(warning), width, 5) + "\n";
  }
  if (!job.attempts.empty()) text += "\n";
  for (const AttemptReport& attempt : job.attempts) {
    std::string line = AttemptHeader(job, attempt).substr(3);
    if (attempt.peak_memory_bytes > 0) line += "; memory " + Gib(attempt.peak_memory_bytes);
    if (!attempt.after.empty()) line += "; " + attempt.after;
    text += Wrap(line, width, 2) + "\n";
  }
  return text;
}

}  // namespace gyre
