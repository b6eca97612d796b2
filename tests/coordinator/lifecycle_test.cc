#include "coordinator/lifecycle.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

namespace gyre {
namespace {

constexpr JobState kJobStates[] = {JobState::kQueued, JobState::kRunning,      JobState::kSucceeded,
                                   JobState::kFailed, JobState::kStoppedEarly, JobState::kCanceled};
constexpr AttemptState kAttemptStates[] = {AttemptState::kLeased,    AttemptState::kRunning,
                                           AttemptState::kSucceeded, AttemptState::kFailed,
                                           AttemptState::kLost,      AttemptState::kStopped};

TEST(Lifecycle, AJobMovesOnlyAlongItsTable) {
  const std::map<std::pair<JobState, JobStep>, JobState> table = {
      {{JobState::kQueued, JobStep::kLease}, JobState::kRunning},
      {{JobState::kQueued, JobStep::kCancel}, JobState::kCanceled},
      {{JobState::kRunning, JobStep::kRequeue}, JobState::kQueued},
      {{JobState::kRunning, JobStep::kSucceed}, JobState::kSucceeded},
      {{JobState::kRunning, JobStep::kFail}, JobState::kFailed},
      {{JobState::kRunning, JobStep::kStopEarly}, JobState::kStoppedEarly},
      {{JobState::kRunning, JobStep::kCancel}, JobState::kCanceled},
      {{JobState::kFailed, JobStep::kRevive}, JobState::kQueued},
      {{JobState::kCanceled, JobStep::kRevive}, JobState::kQueued},
  };
  for (const JobState from : kJobStates) {
    for (int step = 0; step <= static_cast<int>(JobStep::kRevive); ++step) {
      const auto expected = table.find({from, static_cast<JobStep>(step)});
      const Result<JobState> to = Next(from, static_cast<JobStep>(step));
      if (expected == table.end()) {
        EXPECT_EQ(to.status().code(), StatusCode::kFailedPrecondition) << Name(from) << " " << step;
      } else {
        ASSERT_TRUE(to.ok()) << to.status();
        EXPECT_EQ(*to, expected->second) << Name(from) << " " << step;
      }
    }
  }
}

TEST(Lifecycle, AnAttemptEndsOnce) {
  for (const AttemptState from : kAttemptStates) {
    for (int step = 0; step <= static_cast<int>(AttemptStep::kStop); ++step) {
      const bool starts = static_cast<AttemptStep>(step) == AttemptStep::kStart;
      const bool allowed = starts ? from == AttemptState::kLeased : !HasEnded(from);
      const Result<AttemptState> to = Next(from, static_cast<AttemptStep>(step));
      EXPECT_EQ(to.ok(), allowed) << Name(from) << " " << step;
      if (to.ok()) {
        EXPECT_EQ(HasEnded(*to), !starts);
      }
    }
  }
}

TEST(Lifecycle, ASweepsIntentIsItsUsers) {
  EXPECT_EQ(*Next(SweepIntent::kActive, SweepStep::kPause), SweepIntent::kPaused);
  EXPECT_EQ(*Next(SweepIntent::kPaused, SweepStep::kPause), SweepIntent::kPaused);
  EXPECT_EQ(*Next(SweepIntent::kPaused, SweepStep::kResume), SweepIntent::kActive);
  EXPECT_EQ(*Next(SweepIntent::kCanceled, SweepStep::kCancel), SweepIntent::kCanceled);
  EXPECT_EQ(*Next(SweepIntent::kCanceled, SweepStep::kResume), SweepIntent::kActive);
  EXPECT_EQ(Next(SweepIntent::kCanceled, SweepStep::kPause).status().message(),
            "a sweep that is CANCELED cannot be paused");
}

TEST(Lifecycle, NamesComeBack) {
  for (const JobState state : kJobStates) EXPECT_EQ(*ParseJobState(Name(state)), state);
  for (const AttemptState state : kAttemptStates) EXPECT_EQ(*ParseAttemptState(Name(state)), state);
  EXPECT_EQ(*ParseSweepIntent("PAUSED"), SweepIntent::kPaused);
  EXPECT_EQ(ParseJobState("running").status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
