#include "results/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class ExportTest : public ::testing::Test {
 protected:
  /// Two variants; the second has a name that CSV has to quote, and a job that failed.
  ExportTest() {
    sweep_ = db_.AddSweep("s", "RoPE");
    const int64_t rope = db_.AddVariant(sweep_, "RoPE"), odd = db_.AddVariant(sweep_, kOdd);
    first_ = db_.AddFinished(sweep_, rope, 0, 5.1);
    db_.AddJob(sweep_, rope, {.seed = 1, .reused_from = first_});
    db_.AddJob(sweep_, odd, {.seed = 0, .state = "FAILED", .error = "it said:\n\"no\""});
    Run("UPDATE jobs SET rotation = '[{\"frequencies\": [1, 0.5]}]'");
    Run("INSERT INTO frequency_norms (job_id, step, tokens, layer, tensor, head, norms, "
        "norms_without_first) VALUES (1, 10, 100, 0, 'q', 0, '[1.5, null]', '[1, 2]')");
    Run("INSERT INTO points VALUES (1, 'train/loss', 1, 8, NULL, 1)");
  }

  void Run(const std::string& sql) {
    const Status status = db_.database().Execute(sql);
    EXPECT_TRUE(status.ok()) << status;
  }
  AskSql Ask() {
    return [this](const std::string& sql) { return RunQuery(db_.path(), sql, 0); };
  }
  ExportedTables Export(ExportFormat format) {
    const auto done =
        ExportTables("s", format, Ask(), [&](const std::string& file, std::string_view text) {
          files_[file] += text;
          return OkStatus();
        });
    EXPECT_TRUE(done.ok()) << done.status();
    return done.ok() ? *done : ExportedTables();
  }

  static constexpr char kOdd[] = "a,\"b\"\r\nθ";
  ResultsDatabase db_;
  int64_t sweep_ = 0, first_ = 0;
  std::map<std::string, std::string> files_;
};

TEST_F(ExportTest, EachViewIsAFile) {
  const ExportedTables done = Export(ExportFormat::kCsv);
  std::vector<std::string> names;
  for (const ExportedFile& file : done.files) names.push_back(file.name);
  EXPECT_THAT(names, ElementsAre("curves.csv", "final.csv", "comparison.csv", "frequencies.csv",
                                 "contributions.csv", "head_scores.csv", "documents.csv",
                                 "failures.csv", "jobs.csv"));
  EXPECT_TRUE(done.missing.empty());
  EXPECT_EQ(done.files[0].rows, 4);
  EXPECT_EQ(files_.size(), names.size());
  // What has no rows has its columns.
  EXPECT_EQ(files_["head_scores.csv"],
            "sweep,variant,seed,step,tokens,layer,head,diagonal,previous,first,entropy,distance,"
            "kind\r\n");
}

TEST_F(ExportTest, CsvQuotesAndTellsNullFromNothing) {
  Export(ExportFormat::kCsv);
  EXPECT_EQ(files_["curves.csv"],
            "sweep,variant,seed,theta,p,keep,spacing,metric,step,tokens,value\r\n"
            "s,RoPE,0,,,,,austen/perplexity,10,1000,5.1\r\n"
            "s,RoPE,0,,,,,train/loss,1,8,\r\n"
            "s,RoPE,1,,,,,austen/perplexity,10,1000,5.1\r\n"
            "s,RoPE,1,,,,,train/loss,1,8,\r\n");
  EXPECT_EQ(files_["frequencies.csv"].substr(files_["frequencies.csv"].find("\r\n") + 2),
            "s,RoPE,0,10,100,0,0,q,0,1,6.283185307179586,,1.5,1\r\n"
            "s,RoPE,0,10,100,0,0,q,1,0.5,12.566370614359172,,,2\r\n"
            "s,RoPE,1,10,100,0,0,q,0,1,6.283185307179586,,1.5,1\r\n"
            "s,RoPE,1,10,100,0,0,q,1,0.5,12.566370614359172,,,2\r\n");
  const std::string& jobs = files_["jobs.csv"];
  EXPECT_THAT(jobs, HasSubstr("s,\"a,\"\"b\"\"\r\nθ\",0,3,FAILED,rope,"));
  EXPECT_THAT(jobs, HasSubstr(",\"it said:\n\"\"no\"\"\","));
  EXPECT_THAT(jobs, HasSubstr(",\"[{\"\"frequencies\"\": [1, 0.5]}]\"\r\n"));
  EXPECT_THAT(jobs, HasSubstr("s,RoPE,0,1,SUCCEEDED,rope,"));
  EXPECT_THAT(jobs, HasSubstr(",\"\","));  // an empty text
}

TEST_F(ExportTest, JsonLinesHaveWhatIsJsonAsJson) {
  Export(ExportFormat::kJsonLines);
  std::istringstream curves(files_["curves.jsonl"]);
  std::string line;
  std::getline(curves, line);
  EXPECT_EQ(line,
            R"({"sweep":"s","variant":"RoPE","seed":0,"theta":null,"p":null,"keep":null,)"
            R"("spacing":null,"metric":"austen/perplexity","step":10,"tokens":1000,"value":5.1})");
  std::getline(curves, line);
  EXPECT_TRUE(Json::parse(line)["value"].is_null());
  std::istringstream jobs(files_["jobs.jsonl"]);
  std::vector<Json> all;
  while (std::getline(jobs, line)) all.push_back(Json::parse(line));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["rotation"][0]["frequencies"], (Json{1, 0.5}));
  EXPECT_EQ(all[0]["config"]["train"]["precision"], "float32");
  EXPECT_EQ(all[1]["reused_from"], first_);
  EXPECT_EQ(all[2]["variant"], kOdd);
  EXPECT_EQ(all[2]["error"], "it said:\n\"no\"");
  EXPECT_EQ(files_["head_scores.jsonl"], "");
}

// More rows than one answer has.
TEST_F(ExportTest, LongCurvesComeInPagesAndWhole) {
  Run("WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 45000) "
      "INSERT INTO points SELECT 1, 'train/loss', i, i, i, 1 FROM n");
  Export(ExportFormat::kCsv);
  std::istringstream lines(files_["curves.csv"]);
  std::string line;
  int64_t next = 100, seed = 0;
  while (std::getline(lines, line)) {
    const std::string begin = "s,RoPE," + std::to_string(seed) + ",,,,,train/loss," +
                              std::to_string(next) + "," + std::to_string(next) + ",";
    if (line.starts_with(begin) && ++next > 45000) next = 100, ++seed;
  }
  EXPECT_EQ(seed, 2);
  EXPECT_EQ(std::count(files_["curves.csv"].begin(), files_["curves.csv"].end(), '\n'),
            1 + 2 * (2 + 44901));
}

TEST_F(ExportTest, ADatabaseOfAnOlderVersionGivesWhatItHas) {
  Run("DROP VIEW contributions; DROP VIEW documents");
  const ExportedTables done = Export(ExportFormat::kCsv);
  EXPECT_THAT(done.missing, ElementsAre("contributions", "documents"));
  EXPECT_EQ(done.files.size(), 7u);
}

TEST_F(ExportTest, ASweepThatIsNotThereIsNamedWithThoseThatAre) {
  db_.AddSweep("other");
  const auto write = [](const std::string&, std::string_view) { return OkStatus(); };
  const Status status = ExportTables("it's", ExportFormat::kCsv, Ask(), write).status();
  EXPECT_EQ(status, NotFound("no sweep is called 'it's'; there are: other, s"));
}

TEST_F(ExportTest, TheFirstErrorOfAWriterEndsIt) {
  int calls = 0;
  const auto done = ExportTables("s", ExportFormat::kCsv, Ask(),
                                 [&](const std::string&, std::string_view) -> Status {
                                   return ++calls == 3 ? ResourceExhausted("full") : OkStatus();
                                 });
  EXPECT_EQ(done.status(), ResourceExhausted("full"));
  EXPECT_EQ(calls, 3);
}

TEST_F(ExportTest, CurvesComeJobByJobWithTheirAttemptsTime) {
  db_.AddAttempt(first_, 1, db_.AddWorker("w"), "SUCCEEDED", 10);
  Run("UPDATE attempts SET started_at = '2026-01-02T03:04:05.500Z'");
  Run("INSERT INTO points VALUES (1, 'train/loss', 2, 16, 1.25, 7)");  // of no attempt that is
                                                                       // known
  std::vector<std::string> told;
  const Status status = ExportCurves(
      "s", Ask(),
      [&](const ExportedJob& job) {
        told.push_back(job.variant + "/" + std::to_string(job.seed) + " " + job.state);
        return OkStatus();
      },
      [&](const ExportedPoint& point) {
        told.push_back(point.metric + "@" + std::to_string(point.step) + "=" +
                       (std::isnan(point.value) ? "nan" : std::to_string(point.value)) + " " +
                       std::to_string(static_cast<int64_t>(std::round(point.attempt_began * 10))));
        return OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(told, ElementsAre("RoPE/0 SUCCEEDED", "austen/perplexity@10=5.100000 17673230455",
                                "train/loss@1=nan 17673230455", "train/loss@2=1.250000 0",
                                "RoPE/1 SUCCEEDED", "austen/perplexity@10=5.100000 17673230455",
                                "train/loss@1=nan 17673230455", "train/loss@2=1.250000 0",
                                std::string(kOdd) + "/0 FAILED"));
}

}  // namespace
}  // namespace gyre
