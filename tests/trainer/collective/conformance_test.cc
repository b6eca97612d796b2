// What communicator.h promises, of every communicator that needs no device.

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <latch>
#include <mutex>

#include "tests/trainer/collective/ranks_in_threads.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

using testing::HasSubstr;

class Conformance : public TemporaryHomeTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string("gloo") && !HasGloo(home_ / "gloo")) {
      GTEST_SKIP() << "this build has no gloo";
    }
  }
  void Run(int ranks, const std::function<void(std::unique_ptr<Communicator>)>& body,
           Millis timeout = kTestTimeout) {
    RunRanks(GetParam(), ranks, home_ / ("attempt-" + std::to_string(++attempts_)), body, timeout);
  }
  int attempts_ = 0;
};

// Numbers of many sizes, so that the order of a sum shows in its bits.
template <typename T>
std::vector<T> PartOf(int rank, int64_t count) {
  constexpr double kScales[] = {1e-3, 1e-2, 0.1, 1, 10, 100, 1000};
  std::vector<T> part(static_cast<size_t>(count));
  for (size_t i = 0; i < part.size(); ++i) {
    const size_t hash = (i * 2654435761u + static_cast<size_t>(rank) * 40503u) % 100'003;
    part[i] = static_cast<T>((static_cast<double>(hash) / 50'000 - 1) *
                             kScales[(i + static_cast<size_t>(rank)) % 7]);
  }
  return part;
}

template <typename T>
std::vector<T> SumOfParts(int ranks, int64_t count) {
  std::vector<T> sum = PartOf<T>(0, count);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<T> part = PartOf<T>(rank, count);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

BackendError Sum(Communicator& ranks, std::vector<float>& values) {
  return ranks.Sum(values.data(), static_cast<int64_t>(values.size()), nullptr);
}
BackendError Sum(Communicator& ranks, std::vector<double>& values) { return ranks.Sum(values); }

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.empty() || b.empty()) return a.empty() == b.empty();
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
void ExpectSums(int ranks, int64_t count, std::unique_ptr<Communicator> communicator) {
  std::vector<T> values = PartOf<T>(communicator->rank(), count);
  const BackendError error = Sum(*communicator, values);
  EXPECT_TRUE(error.ok()) << error.message;
  EXPECT_TRUE(SameBits(values, SumOfParts<T>(ranks, count)))
      << "rank " << communicator->rank() << " of " << ranks << ", " << count << " numbers";
}

TEST_P(Conformance, EveryRankGetsTheSumInTheOrderOfRanks) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const int64_t count : {0, 1, 3, 7, 1025}) {
      Run(ranks, [&](auto communicator) {
        EXPECT_EQ(communicator->size(), ranks);
        ExpectSums<float>(ranks, count, std::move(communicator));
      });
    }
    Run(ranks, [&](auto communicator) { ExpectSums<double>(ranks, 5, std::move(communicator)); });
  }
}

TEST_P(Conformance, LargeSumsToo) {
  Run(3, [](auto communicator) { ExpectSums<float>(3, 1'100'001, std::move(communicator)); });
  Run(3, [](auto communicator) { ExpectSums<double>(3, 550'001, std::move(communicator)); });
}

TEST_P(Conformance, SumAfterSumOfBothKinds) {
  Run(3, [](auto communicator) {
    std::vector<double> few{1.0, static_cast<double>(communicator->rank())};
    std::vector<float> many(1000, 1);
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(Sum(*communicator, few).ok());
      ASSERT_TRUE(Sum(*communicator, many).ok());
      ASSERT_EQ(few, (std::vector<double>{3, 3}));
      ASSERT_EQ(many, std::vector<float>(1000, 3));
      few = {1, static_cast<double>(communicator->rank())};
      std::fill(many.begin(), many.end(), 1);
    }
  });
}

TEST_P(Conformance, NotFiniteStaysNotFinite) {
  Run(2, [](auto communicator) {
    std::vector<double> values{communicator->rank() == 1 ? std::nan("") : 1.0, 1, INFINITY};
    ASSERT_TRUE(Sum(*communicator, values).ok());
    EXPECT_TRUE(std::isnan(values[0]));
    EXPECT_EQ(values[1], 2);
    EXPECT_EQ(values[2], INFINITY);
  });
}

// pytorch/pytorch#17113: the others wait for ever.
TEST_P(Conformance, ARankThatIsGoneEndsTheOthersCalls) {
  for (const int ranks : {2, 3, 4}) {
    Run(ranks, [&](auto communicator) {
      std::vector<float> values(100'000, 1);
      ASSERT_TRUE(Sum(*communicator, values).ok());
      if (communicator->rank() == 1) return;
      for (int call = 0; call < 3; ++call) {
        const BackendError error = Sum(*communicator, values);
        EXPECT_EQ(error.kind, BackendError::Kind::kPeer);
        EXPECT_EQ(error.message, "rank 1 is gone");
      }
    });
  }
}

TEST_P(Conformance, ARankThatLeavesSaysWhy) {
  Run(4, [](auto communicator) {
    std::vector<double> values(3, 1);
    ASSERT_TRUE(Sum(*communicator, values).ok());
    if (communicator->rank() == 2) communicator->Leave("out of memory");
    const BackendError error = Sum(*communicator, values);
    EXPECT_EQ(error.kind, BackendError::Kind::kPeer);
    EXPECT_EQ(error.message, "rank 2 has left: out of memory");
    communicator->Leave("because of others");
    EXPECT_EQ(Sum(*communicator, values).message, "rank 2 has left: out of memory");
  });
}

TEST_P(Conformance, ARankThatHangsIsWaitedForOnlySoLong) {
  std::latch both_have_failed(2);
  Run(
      3,
      [&](auto communicator) {
        std::vector<float> values(10, 1);
        if (communicator->rank() == 2) return both_have_failed.wait();
        const BackendError error = Sum(*communicator, values);
        EXPECT_EQ(error.kind, BackendError::Kind::kPeer);
        EXPECT_THAT(error.message, HasSubstr("rank 2 did not come within"));
        both_have_failed.count_down();
      },
      Millis(500));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Conformance, testing::Values("threads", "gloo"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gyre
