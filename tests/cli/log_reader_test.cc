#include "cli/log_reader.h"

#include <gmock/gmock.h>

#include <deque>

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

AttemptReport Attempt(int number, const std::string& state, const std::string& error = "") {
  AttemptReport attempt{.number = number, .worker = "h/0", .device = "cpu", .state = state};
  attempt.started_at = "2026-11-30T12:00:00.000Z";
  if (state != "RUNNING") attempt.ended_at = "2026-11-30T12:01:30.000Z";
  attempt.error = error;
  return attempt;
}

/// Answers as it is told to; `on_job` runs before each GetJob.
struct FakeJob : JobSource {
  JobReport job{.id = 7, .sweep = "s", .variant = "a", .state = "RUNNING"};
  std::map<int, std::string> logs;
  std::map<int, int64_t> begins;  // bytes that are gone
  std::deque<std::function<Status()>> rounds;

  Result<JobReport> GetJob(int64_t) override {
    if (!rounds.empty()) {
      const auto round = rounds.front();
      rounds.pop_front();
      GYRE_RETURN_IF_ERROR(round());
    }
    return job;
  }
  Result<LogPiece> ReadLog(int64_t, int attempt, int64_t offset) override {
    const std::string& log = logs[attempt];
    offset = std::max(offset, begins[attempt]);
    if (offset >= static_cast<int64_t>(log.size())) return LogPiece{offset, ""};
    return LogPiece{offset, log.substr(static_cast<size_t>(offset), 4)};
  }
  Result<LogPiece> ReadLastLines(int64_t, int attempt, int) override {
    const std::string& log = logs[attempt];
    const size_t begin = log.rfind('\n', log.size() - 2) + 1;
    return LogPiece{static_cast<int64_t>(begin), log.substr(begin)};
  }
};

struct Shown {
  std::string text;
  std::vector<std::string> said;
  Status status;
};

Shown Show(FakeJob& job, LogOptions options) {
  Shown shown;
  options.look_every = Millis(1);
  shown.status = ReadLogs(
      job, 7, options, [&](std::string_view text) { shown.text += text; },
      [&](const std::string& line) { shown.said.push_back(line); }, {});
  return shown;
}

TEST(LogReader, AttemptsAreToldApart) {
  FakeJob job;
  job.job.state = "SUCCEEDED";
  job.job.attempts = {Attempt(1, "LOST", "its worker was silent\nmore"), Attempt(2, "SUCCEEDED")};
  job.job.attempts[1].resumed_from_step = 500;
  job.logs = {{1, "one\ntwo"}, {2, "three\n"}};
  const Shown shown = Show(job, {});
  EXPECT_EQ(
      shown.text,
      "== attempt 1 of job 7: h/0, cpu, 2026-11-30 12:00:00 UTC; LOST after 1m 30s: its worker "
      "was silent\none\ntwo\n== attempt 2 of job 7: h/0, cpu, 2026-11-30 12:00:00 UTC, from "
      "step 500; SUCCEEDED after 1m 30s\nthree\n");
  EXPECT_THAT(Show(job, {.attempt = 2}).text, HasSubstr("three"));
  EXPECT_THAT(Show(job, {.attempt = 2}).text, Not(HasSubstr("two")));
  EXPECT_EQ(Show(job, {.attempt = 3}).status.code(), StatusCode::kNotFound);
}

TEST(LogReader, WhatWasLeftOutIsSaid) {
  FakeJob job;
  job.job.state = "SUCCEEDED";
  job.job.attempts = {Attempt(1, "SUCCEEDED")};
  job.logs = {{1, "0123456789"}};
  job.begins[1] = 6;
  EXPECT_THAT(Show(job, {}).text, HasSubstr("\n[6 bytes left out]\n6789"));
}

TEST(LogReader, FollowingGoesOnThroughANewAttemptAndALostConnectionToTheEnd) {
  FakeJob job;
  job.job.attempts = {Attempt(1, "RUNNING")};
  job.logs[1] = "one\n";
  const auto nothing = [] { return OkStatus(); };
  job.rounds = {nothing, [&] { return Unavailable("the connection broke"); },
                [&] {
                  job.logs[1] += "two\n";
                  return OkStatus();
                },
                [&] {
                  job.job.attempts[0] = Attempt(1, "LOST", "silent");
                  job.job.attempts.push_back(Attempt(2, "RUNNING"));
                  job.logs[2] = "three\n";
                  return OkStatus();
                },
                [&] {
                  job.logs[2] += "four\n";
                  job.job.attempts[1] = Attempt(2, "SUCCEEDED");
                  job.job.state = "SUCCEEDED";
                  return OkStatus();
                }};
  const Shown shown = Show(job, {.follow = true});
  EXPECT_TRUE(shown.status.ok()) << shown.status;
  EXPECT_EQ(shown.text,
            "== attempt 1 of job 7: h/0, cpu, 2026-11-30 12:00:00 UTC\none\ntwo\n"
            "== attempt 1 ended: LOST after 1m 30s: silent\n"
            "== attempt 2 of job 7: h/0, cpu, 2026-11-30 12:00:00 UTC\nthree\nfour\n"
            "== attempt 2 ended: SUCCEEDED after 1m 30s\n");
  EXPECT_THAT(shown.said, ElementsAre("the connection broke", "connected again"));
}

TEST(LogReader, OnlyTheLastLines) {
  FakeJob job;
  job.job.state = "SUCCEEDED";
  job.job.attempts = {Attempt(1, "SUCCEEDED")};
  job.logs = {{1, "one\ntwo\nthree\n"}};
  const std::string text = Show(job, {.lines = 1}).text;
  EXPECT_THAT(text, HasSubstr("UTC; SUCCEEDED after 1m 30s\nthree\n"));
}

}  // namespace
}  // namespace gyre
