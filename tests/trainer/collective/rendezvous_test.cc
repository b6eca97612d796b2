#include "trainer/collective/rendezvous.h"

#include <gmock/gmock.h>

#include <thread>

#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class RendezvousTest : public TemporaryHomeTest {
 protected:
  using Joined = Result<std::unique_ptr<Rendezvous>>;
  RankOptions Rank(int rank, int ranks, Millis timeout = kTestTimeout) const {
    return {rank, ranks, home_ / "ranks", "job 1", timeout};
  }
  // Both ranks of two at once.
  std::pair<Joined, Joined> JoinTwo(const RankOptions& first, const RankOptions& second) {
    Joined one = Internal("not joined"), other = Internal("not joined");
    {
      const std::jthread thread([&] { other = Rendezvous::Join(second); });
      one = Rendezvous::Join(first);
    }
    return {std::move(one), std::move(other)};
  }
};

TEST_F(RendezvousTest, WhatOnePutsTheOthersGet) {
  auto [one, other] = JoinTwo(Rank(0, 2), Rank(1, 2));
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(other.ok()) << other.status();
  const std::string content("an\0id", 5);
  ASSERT_TRUE((*one)->Put("id", content).ok());
  EXPECT_EQ(*(*other)->Get("id"), content);
  EXPECT_EQ((*other)->Put("id", "another").code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(*(*one)->Get("id"), content);
}

// A file of an earlier attempt taken for this one's sends ranks to ports where nobody is, or worse.
TEST_F(RendezvousTest, AnAttemptNeverTakesAnEarlierOnesFiles) {
  { JoinTwo(Rank(0, 2), Rank(1, 2)); }
  const auto again = Rendezvous::Join(Rank(0, 2));
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_THAT(again.status().message(), HasSubstr("each attempt needs a new folder"));
  // One more rank than the last time finds the others gone.
  EXPECT_FALSE(Rendezvous::Join(Rank(2, 3)).ok());
}

TEST_F(RendezvousTest, RanksOfDifferentJobsDoNotGoTogether) {
  RankOptions stranger = Rank(1, 2);
  stranger.purpose = "job 2";
  const auto [one, other] = JoinTwo(Rank(0, 2), stranger);
  EXPECT_EQ(one.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(one.status().message(),
            "rank 1 and rank 0 do not go together: '2 ranks: job 2' and '2 ranks: job 1'");
}

TEST_F(RendezvousTest, WhoDoesNotComeIsNotWaitedForForEver) {
  const auto alone = Rendezvous::Join(Rank(0, 2, Millis(30)));
  EXPECT_EQ(alone.status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_THAT(alone.status().message(), HasSubstr("there was no rank-1 in"));
}

TEST_F(RendezvousTest, WhoHasComeAndGoneIsNotWaitedFor) {
  auto [one, other] = JoinTwo(Rank(0, 2), Rank(1, 2));
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ((*one)->WhoIsGone(), "");
  *other = nullptr;
  EXPECT_EQ((*one)->WhoIsGone(), "rank 1 is gone");
  EXPECT_EQ((*one)->Get("id").status(), Unavailable("rank 1 is gone"));
}

TEST_F(RendezvousTest, TheFirstToFailIsTheCause) {
  auto [one, other] = JoinTwo(Rank(0, 2), Rank(1, 2));
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ((*one)->Failure(), "");
  (*other)->Fail("rank 1 has left: the disk is full");
  (*one)->Fail("rank 1 is gone");
  EXPECT_EQ((*one)->Failure(), "rank 1 has left: the disk is full");
  EXPECT_EQ((*one)->Get("id").status(), Unavailable("rank 1 has left: the disk is full"));
}

TEST_F(RendezvousTest, RanksCountFromZero) {
  for (const auto& [rank, ranks] : {std::pair(2, 2), {-1, 2}, {0, 0}}) {
    EXPECT_EQ(Rendezvous::Join(Rank(rank, ranks)).status().code(), StatusCode::kInvalidArgument);
  }
}

TEST_F(RendezvousTest, AFolderThatCannotBeMadeIsAnError) {
  RankOptions options = Rank(0, 1);
  options.folder = Write("file", "x") + "/folder";
  EXPECT_FALSE(Rendezvous::Join(options).ok());
}

}  // namespace
}  // namespace gyre
