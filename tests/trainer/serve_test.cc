#include "trainer/serve.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>

#include "base/log.h"
#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/made_job.h"
#include "trainer/serve_messages.h"

namespace gyre {
namespace {

using testing::HasSubstr;

constexpr int kDeadlineMs = 20'000;  // for what takes milliseconds

// A trainer in a child process, with pipes for its stdin and its fd 3.
class Child {
 public:
  Child() {
    int in[2], out[2];
    EXPECT_EQ(pipe(in), 0);
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      close(in[1]), close(out[0]);
      SetLogLevel(LogLevel::kOff);
      _exit(Serve(in[0], out[1]));
    }
    close(in[0]), close(out[1]);
    in_ = in[1], out_ = out[0];
  }
  ~Child() {
    CloseInput();
    CloseOutput();
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  void Say(const std::string& line) {
    const std::string whole = line + "\n";
    EXPECT_EQ(write(in_, whole.data(), whole.size()), static_cast<ssize_t>(whole.size()));
  }
  void CloseInput() {
    if (in_ >= 0) close(std::exchange(in_, -1));
  }
  void CloseOutput() {
    if (out_ >= 0) close(std::exchange(out_, -1));
  }

  // The next message; null after end of file or the deadline.
  Json Next() {
    size_t end;
    while ((end = buffer_.find('\n')) == std::string::npos) {
      pollfd waits{out_, POLLIN, 0};
      char bytes[4096];
      if (poll(&waits, 1, kDeadlineMs) <= 0) return nullptr;
      const ssize_t got = read(out_, bytes, sizeof bytes);
      if (got <= 0) return nullptr;
      buffer_.append(bytes, static_cast<size_t>(got));
    }
    const Json message = Json::parse(buffer_.substr(0, end), nullptr, false);
    EXPECT_TRUE(message.is_object()) << buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return message;
  }
  // Messages up to and with the first of a type.
  std::vector<Json> Until(const std::string& type) {
    std::vector<Json> messages;
    do {
      messages.push_back(Next());
      if (messages.back().is_null()) {
        ADD_FAILURE() << "no " << type << " came";
        return messages;
      }
    } while (messages.back()["type"] != type);
    return messages;
  }
  // How it ended; waits for it.
  int WaitStatus() {
    int state = 0;
    EXPECT_EQ(waitpid(std::exchange(pid_, -1), &state, 0) > 0, true);
    return state;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  std::string buffer_;
};

class ServeTest : public TemporaryHomeTest {
 protected:
  std::string RunLine(const TrainerJob& job, const std::string& resume_from = "") {
    return Json({{"type", "run"},
                 {"job", ToJson(job)},
                 {"resume_from", resume_from},
                 {"threads", 1},
                 {"home", home_.string()}})
        .dump();
  }
  TrainerJob EndlessJob() {
    TrainerJob job = MakeJob(home_);
    job.config.train.tokens = int64_t{1} << 40;
    job.config.evaluate.every = 0;
    return job;
  }
};

TEST_F(ServeTest, SeveralJobsInARowGiveThePointsOfTrain) {
  Child child;  // before this process starts threads
  TrainerJob job = MakeJob(home_);
  job.config.statistics = {.every = 640, .sequences = 2, .collect = {kHeadScores}};
  RecordingObserver expected;
  TrainControl control;
  ASSERT_TRUE(Train(job, {home_, "", 1}, expected, control).ok());
  const Json hello = child.Next();
  EXPECT_EQ(hello["type"], "hello");
  EXPECT_EQ(hello["protocol"], 2);
  EXPECT_TRUE(hello["fingerprint"].is_object());
  EXPECT_FALSE(hello["fingerprint"].contains("precision"));
  EXPECT_EQ(hello["precisions"][0], "float32");
  for (int run = 0; run < 2; ++run) {
    child.Say(RunLine(job));
    std::vector<Json> points, statistics, checkpoints;
    const std::vector<Json> messages = child.Until("done");
    EXPECT_EQ(messages.front()["type"], "started");
    EXPECT_EQ(messages.front()["fingerprint"], Fingerprint("cpu", 1));
    for (const Json& message : messages) {
      if (message["type"] == "point") points.push_back(message);
      if (message["type"] == "statistics") statistics.push_back(message["record"]);
      if (message["type"] == "checkpoint") checkpoints.push_back(message);
    }
    ASSERT_EQ(statistics.size(), 4u);  // steps 0, 10 and 20, and the documents
    for (size_t i = 0; i < statistics.size(); ++i) {
      EXPECT_EQ(statistics[i], ToJson(expected.statistics[i]));
    }
    ASSERT_EQ(points.size(), expected.points.size());
    for (size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i]["metric"], expected.points[i].metric);
      EXPECT_EQ(points[i]["step"], expected.points[i].step);
      EXPECT_EQ(points[i]["tokens"], expected.points[i].tokens);
      EXPECT_EQ(points[i]["value"].get<double>(), expected.points[i].value) << "the same double";
    }
    ASSERT_EQ(checkpoints.size(), expected.checkpoints.size());
    EXPECT_EQ(checkpoints.back()["hash"], expected.checkpoints.back().hash);
    EXPECT_EQ(checkpoints.back()["weights_only"], true);
    EXPECT_EQ(messages.back()["stopped"], false);
    EXPECT_EQ(messages.back()["diverged_at_step"], nullptr);
  }
  child.CloseInput();
  EXPECT_EQ(child.WaitStatus(), 0);
}

TEST_F(ServeTest, StopLeavesACheckpointThatTheNextRunGoesOnFrom) {
  TrainerJob job = EndlessJob();
  Child child;
  child.Say(RunLine(job));
  child.Until("point");
  child.Say(R"({"type": "checkpoint"})");
  child.Until("checkpoint");
  child.Say(R"({"type": "stop"})");
  const std::vector<Json> messages = child.Until("done");
  EXPECT_EQ(messages.back()["stopped"], true);
  const Json& checkpoint = messages[messages.size() - 2];
  ASSERT_EQ(checkpoint["type"], "checkpoint");
  EXPECT_EQ(checkpoint["step"], messages.back()["step"]);
  child.Say(RunLine(job, checkpoint["hash"]));
  EXPECT_GT(child.Until("progress").back()["step"], checkpoint["step"].get<int64_t>());
}

TEST_F(ServeTest, EndOfInputEndsItInTheMiddleOfAJob) {
  Child child;
  child.Say(RunLine(EndlessJob()));
  child.Until("point");
  child.CloseInput();
  EXPECT_EQ(child.WaitStatus(), 0);
}

TEST_F(ServeTest, ItEndsWhenNobodyReads) {
  Child child;
  child.Say(RunLine(EndlessJob()));
  child.Until("point");
  child.CloseOutput();
  const int state = child.WaitStatus();
  EXPECT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 1);
}

TEST_F(ServeTest, WrongLinesAreAnsweredAndSurvived) {
  Child child;
  child.Until("hello");
  const Json good = Json::parse(RunLine(MakeJob(home_)));
  std::vector<std::string> lines = {"nonsense",
                                    "[]",
                                    "{}",
                                    R"({"type": 3})",
                                    R"({"type": "dance"})",
                                    R"({"type": "run"})",
                                    R"({"type": "run", "job": []})",
                                    "\xff\xfe{"};
  for (const char* field : {"job", "resume_from", "threads", "home"}) {
    Json json = good;
    json.erase(field);
    lines.push_back(json.dump());
    json[field] = nullptr;
    lines.push_back(json.dump());
  }
  for (const char* wrong :
       {R"({"world": 0})", R"({"world": 2.5})", R"({"world": 2, "rank": 2, "rendezvous": "x"})",
        R"({"world": 2, "rank": -1, "rendezvous": "x"})", R"({"world": 2, "rank": 1})",
        R"({"world": 2, "rendezvous": ""})", R"({"rank": 1})", R"({"world": 100000})",
        R"({"device": 3})", R"({"device": "tpu"})"}) {
    Json json = good;
    json.update(Json::parse(wrong));
    lines.push_back(json.dump());
  }
  for (const std::string& line : lines) {
    child.Say(line);
    const Json answer = child.Next();
    EXPECT_EQ(answer["type"], "error") << line;
    EXPECT_EQ(answer["code"], "INVALID_ARGUMENT") << line;
  }
  child.Say("");                     // nothing said, nothing answered
  child.Say(R"({"type": "stop"})");  // no job to stop
  Json json = good;
  json["job"]["datasets"]["train"] = std::string(64, '0');
  child.Say(json.dump());
  EXPECT_EQ(child.Until("error").back()["code"], "NOT_FOUND");
  json = good;
  json["device"] = "abacus";
  child.Say(json.dump());
  EXPECT_THAT(child.Until("error").back()["message"].get<std::string>(), HasSubstr("'abacus'"));
  child.Say(good.dump());
  EXPECT_EQ(child.Until("done").back()["stopped"], false);
}

TEST_F(ServeTest, SeveralTrainAsRanksAndRankZeroSpeaks) {
  Child first, second;
  if (!HasGloo(home_ / "gloo")) GTEST_SKIP() << "this build has no gloo";
  Json line = Json::parse(RunLine(MakeJob(home_)));
  line.update({{"world", 2}, {"rank", 0}, {"rendezvous", (home_ / "ranks").string()}});
  first.Say(line.dump());
  line["rank"] = 1;
  second.Say(line.dump());
  const std::vector<Json> said = first.Until("done");
  EXPECT_GT(said.size(), 20u);
  EXPECT_EQ(said.back()["step"], 20);
  EXPECT_EQ(second.Next()["type"], "hello");
  EXPECT_EQ(second.Next()["type"], "done");
  // The same folder again.
  first.Say(line.dump());
  EXPECT_EQ(first.Next()["code"], "ALREADY_EXISTS");
}

TEST_F(ServeTest, OneJobAtATime) {
  Child child;
  child.Say(RunLine(EndlessJob()));
  child.Until("point");
  child.Say(RunLine(MakeJob(home_)));
  EXPECT_EQ(child.Until("error").back()["code"], "FAILED_PRECONDITION");
  child.Say(R"({"type": "stop"})");
  EXPECT_EQ(child.Until("done").back()["stopped"], true);
}

TEST_F(ServeTest, LongLinesComeThroughWhole) {
  TrainerJob job = MakeJob(home_);
  job.key = std::string(300'000, 'k');
  Child child;
  child.Until("hello");
  child.Say(RunLine(job));
  EXPECT_EQ(child.Until("done").back()["type"], "done");
}

TEST(ServeMessagesTest, WhatIsNotFiniteIsNullWithItsName) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Json::parse(PointLine({"a", 1, 2, infinity})), Json({{"type", "point"},
                                                                 {"metric", "a"},
                                                                 {"step", 1},
                                                                 {"tokens", 2},
                                                                 {"value", nullptr},
                                                                 {"special", "inf"}}));
  EXPECT_EQ(Json::parse(PointLine({"a", 1, 2, -infinity}))["special"], "-inf");
  EXPECT_EQ(Json::parse(ProgressLine({1, 2, 3, std::nan("")}))["special"], "nan");
  EXPECT_FALSE(Json::parse(PointLine({"a", 1, 2, 0.5})).contains("special"));
}

TEST(ServeMessagesTest, NumbersReadBackAsTheSameDouble) {
  for (const double value :
       {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2.5455629825592041}) {
    const double back = Json::parse(PointLine({"a", 1, 2, value}))["value"].get<double>();
    EXPECT_EQ(std::signbit(back), std::signbit(value));
    EXPECT_EQ(back, value);
  }
}

}  // namespace
}  // namespace gyre
