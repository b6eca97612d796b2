#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/progress_display.h"
#include "cli/progress_lines.h"
#include "cli/text_width.h"
#include "tests/cli/golden.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

SweepStatus Quickstart() {
  SweepStatus sweep;
  sweep.id = 1;
  sweep.name = "quickstart";
  sweep.intent = "ACTIVE";
  sweep.jobs = {.queued = 6, .running = 2, .succeeded = 3, .failed = 1};
  sweep.tokens_done = 6600000;
  sweep.tokens_budget = 19200000;
  sweep.last_event_id = 40;
  sweep.running = {{.job_id = 5,
                    .sweep = "quickstart",
                    .variant = "NoPE",
                    .seed = 1,
                    .worker = "host/0",
                    .attempt = 1,
                    .tokens = 0,
                    .tokens_budget = 1600000},
                   {.job_id = 6,
                    .sweep = "quickstart",
                    .variant = "0.75-RoPE-reversed",
                    .seed = 1,
                    .worker = "host/0",
                    .attempt = 2,
                    .tokens = 200000,
                    .tokens_budget = 1600000}};
  return sweep;
}

WatchedEvent Progress(int64_t job, const std::string& variant, int64_t tokens, double loss) {
  WatchedEvent event;
  event.kind = "progress";
  event.progress = {.job_id = job,
                    .sweep = "quickstart",
                    .variant = variant,
                    .seed = 1,
                    .tokens = tokens,
                    .tokens_budget = 1600000,
                    .tokens_per_second = 29100,
                    .loss = loss};
  return event;
}

WatchedEvent JobEvent(int64_t id, const std::string& kind, int64_t job, int attempt = 0,
                      const std::string& error = "") {
  WatchedEvent event{.id = id, .kind = kind, .sweep_id = 1, .job_id = job, .attempt = attempt};
  event.details = R"({"variant": "NoPE", "seed": 1)";
  if (!error.empty()) event.details += ", \"error\": \"" + error + "\"";
  event.details += "}";
  return event;
}

std::string Joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class SweepProgressTest : public ::testing::Test {
 protected:
  SweepProgressTest() : progress_({Quickstart()}) {}

  std::vector<std::string> On(const WatchedEvent& event) {
    std::vector<std::string> lines;
    changed_ = progress_.OnEvent(event, &lines);
    return lines;
  }

  SweepProgress progress_;
  bool changed_ = false;
};

TEST_F(SweepProgressTest, LooksRightAt80And160Columns) {
  EXPECT_THAT(On(Progress(5, "NoPE", 656000, 2.4123)), IsEmpty());
  EXPECT_THAT(On(Progress(6, "0.75-RoPE-reversed", 1592000, 1.65)), IsEmpty());
  ExpectGolden("progress-80.txt", Joined(progress_.Lines(80, 0)));
  ExpectGolden("progress-160.txt", Joined(progress_.Lines(160, 0)));
  ExpectGolden("progress-40.txt", Joined(progress_.Lines(40, 0)));
}

TEST_F(SweepProgressTest, EveryLineFitsEveryWidth) {
  On(Progress(5, "日本語 θ=500k <script>", 656000, 123456.5));
  for (int width = 20; width < 200; ++width) {
    for (const std::string& line : progress_.Lines(width, 0)) {
      ASSERT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST_F(SweepProgressTest, OfWhatRunsOnlyAsMuchAsFitsTheWindow) {
  EXPECT_THAT(progress_.Lines(80, 3), ElementsAre(HasSubstr("quickstart"), HasSubstr("tokens"),
                                                  "  ... and 2 more that run"));
  EXPECT_THAT(progress_.Lines(80, 4), SizeIs(4));
  EXPECT_THAT(progress_.Lines(80, 1), ElementsAre("  ... and 2 more"));
}

// ray-project/ray#12374: a status wider than the window. microsoft/nni#4463, microsoft/nni#5086:
// names that are not ASCII.
TEST_F(SweepProgressTest, FailuresTroubleAndWorkersStayWhateverTheSize) {
  SweepStatus sweep = Quickstart();
  for (int job = 1; job <= 300; ++job) {
    const std::string error = job % 3 == 0 ? "日本語 failed after " : "no data within ";
    sweep.failures.push_back({job, "θ=500k", 1, error + std::to_string(job) + " s\nlog"});
    RunningJobStatus running = sweep.running[0];
    running.job_id = 1000 + job;
    sweep.running.push_back(running);
  }
  sweep.intent = "PAUSED";
  sweep.pause_reason = "its first 3 jobs failed alike";
  sweep.problem = "the results database cannot be written";
  progress_.Refresh(sweep);
  ClusterStatus cluster;
  for (const char* name : {"host/0", "日本語/1", "gone/2"}) {
    cluster.workers.push_back({.name = name, .state = "ACTIVE", .slots = 4, .busy = 2});
  }
  cluster.workers[1].problem = "the disk is full";
  cluster.workers[2].state = "GONE";
  progress_.Refresh(cluster, /*all_sweeps=*/false);
  EXPECT_THAT(Joined(progress_.Lines(80, 24)),
              AllOf(HasSubstr("\n  200 failed: no data within 1 s (jobs 1, 2, 4, 5, 7, ...)\n"),
                    HasSubstr("it has paused itself: its first 3 jobs failed alike\n"),
                    HasSubstr("coordinator: the results database cannot be written\n"),
                    HasSubstr("more that run\n"), HasSubstr("\n2 workers, 8 slots, 4 busy\n"),
                    HasSubstr("\n  日本語/1: the disk is full\n")));
  for (int height = 1; height < 40; ++height) {
    EXPECT_LE(progress_.Lines(80, height).size(), static_cast<size_t>(height));
  }
  for (int width = 20; width < 120; ++width) {
    for (const std::string& line : progress_.Lines(width, 24)) {
      ASSERT_LE(DisplayWidth(line), width) << line;
    }
  }
}

TEST_F(SweepProgressTest, SweepsThatComeAreFollowedWhereAllAre) {
  EXPECT_THAT(SweepProgress({}).Lines(80, 24), ElementsAre("no sweep has jobs to do"));
  ClusterStatus cluster;
  cluster.sweeps = {Quickstart()};
  cluster.sweeps[0].id = 2;
  cluster.sweeps[0].name = "another";
  progress_.Refresh(cluster, /*all_sweeps=*/false);
  EXPECT_EQ(progress_.sweeps().size(), 1u);
  progress_.Refresh(cluster, /*all_sweeps=*/true);
  EXPECT_EQ(progress_.sweeps().size(), 2u);
  EXPECT_THAT(progress_.Summary(), ElementsAre(HasSubstr("quickstart"), HasSubstr("another")));
}

TEST_F(SweepProgressTest, PausesAndWorkersAreSaid) {
  WatchedEvent paused{.id = 41, .kind = "sweep_paused", .sweep_id = 1};
  paused.details = R"({"reason": "its first 3 jobs failed alike"})";
  EXPECT_THAT(On(paused), ElementsAre("quickstart: has paused itself: its first 3 jobs failed "
                                      "alike"));
  EXPECT_TRUE(changed_);
  const WatchedEvent gone{.id = 42, .kind = "worker_gone", .details = R"({"name": "host/1"})"};
  EXPECT_THAT(On(gone), ElementsAre("worker host/1 is gone: it has been silent for too long"));
}

TEST(StateLine, HasASignForWhateverThereIsOneOf) {
  SweepStatus sweep;
  sweep.tokens_budget = 1000;
  sweep.jobs = {.queued = 1, .running = 2, .succeeded = 3, .failed = 1, .canceled = 1};
  EXPECT_EQ(StateLine(sweep, {}, 80), "  [###>>.-x]    0% of 1k tokens");
  sweep.jobs = {.queued = 9000, .running = 1, .succeeded = 997, .failed = 1, .canceled = 1};
  const std::string line = StateLine(sweep, {}, 60);
  EXPECT_THAT(line, AllOf(HasSubstr("#>"), HasSubstr(".-x]")));
  EXPECT_LE(DisplayWidth(line), 60);
}

TEST_F(SweepProgressTest, JobsThatRunAlreadyAreNamedFirst) {
  EXPECT_THAT(progress_.FirstLines(),
              ElementsAre("quickstart: NoPE seed 1 is running",
                          "quickstart: 0.75-RoPE-reversed seed 1 is running"));
}

TEST_F(SweepProgressTest, SilenceAndDoubtsAreSaid) {
  EXPECT_THAT(On(JobEvent(41, "attempt_suspected", 5, 1)),
              ElementsAre(HasSubstr("nothing is heard of the worker of NoPE seed 1")));
  EXPECT_THAT(On(JobEvent(42, "attempt_back", 5, 1)), ElementsAre(HasSubstr("is heard of again")));
  EXPECT_THAT(On(JobEvent(43, "attempt_reattached", 5, 1)),
              ElementsAre(HasSubstr("a new process of its worker")));
  EXPECT_THAT(On(JobEvent(44, "nondeterminism", 5, 1)),
              ElementsAre(HasSubstr("under the same fingerprint")));
}

TEST_F(SweepProgressTest, EventsBecomeLinesAtStateChangesOnly) {
  EXPECT_THAT(On(JobEvent(41, "attempt_leased", 5, 1)),
              ElementsAre("quickstart: NoPE seed 1 started"));
  EXPECT_TRUE(changed_);
  EXPECT_THAT(On(JobEvent(42, "attempt_running", 5, 1)), IsEmpty());
  EXPECT_THAT(On(JobEvent(43, "checkpoint_saved", 5, 1)), IsEmpty());
  EXPECT_FALSE(changed_);
  EXPECT_THAT(On(JobEvent(44, "attempt_lost", 5, 1)),
              ElementsAre("quickstart: NoPE seed 1 lost its worker, and will be resumed"));
  EXPECT_THAT(On(JobEvent(45, "attempt_leased", 5, 2)),
              ElementsAre("quickstart: NoPE seed 1 started again, attempt 2"));
  EXPECT_THAT(On(JobEvent(46, "attempt_failed", 5, 2, "out of memory")),
              ElementsAre("quickstart: NoPE seed 1 attempt failed: out of memory"));
  EXPECT_THAT(On(JobEvent(47, "job_failed", 5, 0, "out of memory")),
              ElementsAre("quickstart: NoPE seed 1 FAILED: out of memory"));
  EXPECT_TRUE(changed_);
}

TEST_F(SweepProgressTest, AnEventCountsOnceAndOfItsOwnSweepOnly) {
  EXPECT_THAT(On(JobEvent(40, "job_succeeded", 5)), IsEmpty());  // the answer knew of it
  EXPECT_THAT(On(JobEvent(41, "job_succeeded", 5)), SizeIs(1));
  EXPECT_THAT(On(JobEvent(41, "job_succeeded", 5)), IsEmpty());
  WatchedEvent other = JobEvent(42, "job_succeeded", 99);
  other.sweep_id = 2;
  EXPECT_THAT(On(other), IsEmpty());
  EXPECT_FALSE(changed_);
  EXPECT_EQ(progress_.last_event_id(), 42);
}

TEST_F(SweepProgressTest, AnErrorCannotMoveTheCursor) {
  EXPECT_THAT(On(JobEvent(41, "job_failed", 5, 0, "bad\\u001b[2J\\nnews")),
              ElementsAre("quickstart: NoPE seed 1 FAILED: bad\\x1b[2J\\nnews"));
}

TEST_F(SweepProgressTest, EndsWithTheLastJobAndItsEvent) {
  EXPECT_FALSE(progress_.ended());
  SweepStatus done = Quickstart();
  done.jobs = {.succeeded = 11, .failed = 1};
  done.running.clear();
  done.last_event_id = 50;
  progress_.Refresh(done);
  EXPECT_TRUE(progress_.ended());
  EXPECT_FALSE(progress_.caught_up());
  On(JobEvent(50, "sweep_finished", 0));
  EXPECT_TRUE(progress_.caught_up());
}

TEST(Redraw, WritesOverWhatStoodThere) {
  EXPECT_EQ(Redraw({}, {"a", "b"}, {}), "a\nb\n");
  EXPECT_EQ(Redraw({"a", "b"}, {"c", "d"}, {}), "\x1b[2A\rc\x1b[K\nd\x1b[K\n");
  EXPECT_EQ(Redraw({"a", "b"}, {"c"}, {}), "\x1b[2A\rc\x1b[K\n\x1b[J");
  EXPECT_EQ(Redraw({"a"}, {"a"}, {"news"}), "\x1b[1A\rnews\x1b[K\na\x1b[K\n");
  EXPECT_EQ(Redraw({"a"}, {}, {}), "\x1b[1A\r\x1b[J");
  EXPECT_EQ(Redraw({}, {}, {"news"}), "news\n");
}

// Textualize/rich#2139: flicker and remainders in tmux.
TEST(Redraw, TakesAwayWhatANarrowerWindowHasWrapped) {
  EXPECT_EQ(Redraw({"0123456789", "ab"}, {"c"}, {}, 4), "\x1b[4A\r\x1b[Jc\x1b[K\n\x1b[J");
  EXPECT_EQ(Redraw({"日本語", "ab"}, {"c", "d"}, {}, 6), "\x1b[2A\rc\x1b[K\nd\x1b[K\n");
}

}  // namespace
}  // namespace gyre
