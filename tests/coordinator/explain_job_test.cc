#include "coordinator/explain_job.h"

#include <gmock/gmock.h>

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ExplainJob, WaitingIsSaidInTheSchedulersOrder) {
  WaitingFacts facts{.job = 17, .sweep = "table-2", .slots = 8, .busy = 8};
  facts.running = {{"quickstart", 2}, {"table-2", 6}};
  facts.ahead = 37;
  EXPECT_EQ(WhyItWaits(facts),
            "all 8 slots are busy (2 by quickstart, 6 by table-2); 37 jobs go before it");
  facts.ahead = 0;
  facts.busy = 7;
  EXPECT_EQ(WhyItWaits(facts), "1 slot of 8 is free; it is next");
  facts.problems["host/0"] = "the disk is full";
  EXPECT_THAT(WhyItWaits(facts), HasSubstr("host/0 takes no work: the disk is full"));
  facts.pause_left = Millis(12'000);
  EXPECT_EQ(WhyItWaits(facts), "it failed before, and is tried again in 12 s");
  facts.unfit = "no worker is connected";
  facts.problems.clear();
  EXPECT_EQ(WhyItWaits(facts), "no worker is connected");
  facts.paused = true;
  EXPECT_EQ(WhyItWaits(facts), "it is paused");
  EXPECT_THAT(WhatToDoWhileItWaits(facts), ElementsAre("gyre resume 17 goes on with it"));
  facts.intent = SweepIntent::kPaused;
  EXPECT_EQ(WhyItWaits(facts), "its sweep, table-2, is paused");
  facts.pause_reason = "its first 3 jobs failed alike";
  EXPECT_THAT(WhyItWaits(facts), HasSubstr("has paused itself: its first 3 jobs failed alike"));
  EXPECT_THAT(WhatToDoWhileItWaits(facts).front(), HasSubstr("gyre retry table-2"));
}

TEST(ExplainJob, AnEndSaysWhatToDo) {
  EndingFacts facts{.job = 17, .sweep = "table-2"};
  EXPECT_EQ(WhyItEnded(facts), "it has finished");
  EXPECT_THAT(WhatToDoAfter(facts), IsEmpty());
  facts.diverged_at_step = 40;
  EXPECT_THAT(WhyItEnded(facts), HasSubstr("not finite from step 40 on"));
  facts.diverged_at_step.reset();
  facts.state = JobState::kFailed;
  facts.error = "cannot allocate 3 GiB\nand a long log";
  facts.last = AttemptReply{.number = 2, .state = AttemptState::kFailed};
  facts.last->error_code = "RESOURCE_EXHAUSTED";
  facts.why_not_again = "it ran out of memory twice";
  EXPECT_EQ(WhyItEnded(facts),
            "cannot allocate 3 GiB. It is not tried again: it ran out of memory twice");
  EXPECT_THAT(WhatToDoAfter(facts), ElementsAre(HasSubstr("train.micro_batch"),
                                                HasSubstr("gyre retry 17 tries it again")));
  facts.last->error_code = "INVALID_ARGUMENT";
  EXPECT_THAT(WhatToDoAfter(facts).front(), HasSubstr("--replace"));
  facts.state = JobState::kCanceled;
  EXPECT_THAT(WhatToDoAfter(facts), ElementsAre(HasSubstr("gyre retry 17")));
}

}  // namespace
}  // namespace gyre
