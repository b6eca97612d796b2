// NCCL's communicator, with the emulated CUDA: ranks are threads, each with a device of its own.

#include <cuda_runtime.h>
#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

#include "tests/emulation/options.h"
#include "trainer/collective/nccl_plugin.h"
#include "trainer/collective/thread_communicator.h"

namespace gyre {
namespace {

constexpr Millis kTimeout{60'000};

class NcclTest : public testing::Test {
 protected:
  NcclTest() : plugin_(*GyreNcclPlugin(GYRE_BACKEND_ABI)) { emulation::TheOptions().devices = 4; }

  /// `body` on a thread a rank, with the rank's communicator and its device.
  void Run(int ranks, const std::function<void(std::unique_ptr<Communicator>)>& body) {
    auto hosts = ThreadCommunicators(ranks, kTimeout);
    std::string id;
    ASSERT_TRUE(plugin_.NewId(&id).ok());
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        NcclOptions options{.device = rank, .id = id, .timeout_ms = kTimeout.count()};
        options.who_is_gone = [this] { return gone_ ? "rank 1 is gone" : ""; };
        std::unique_ptr<Communicator> communicator;
        const BackendError error =
            plugin_.Connect(options, std::move(hosts[static_cast<size_t>(rank)]), &communicator);
        ASSERT_TRUE(error.ok()) << error.message;
        body(std::move(communicator));
      });
    }
  }

  NcclPlugin& plugin_;
  std::atomic<bool> gone_{false};
};

// A device's numbers and a stream.
class OnDevice {
 public:
  explicit OnDevice(const std::vector<float>& values) : count_(values.size()) {
    EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), Bytes()), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(data_, values.data(), Bytes(), cudaMemcpyHostToDevice, stream_),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }
  ~OnDevice() {
    EXPECT_EQ(cudaFree(data_), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }
  BackendError Sum(Communicator& ranks) {
    return ranks.Sum(data_, static_cast<int64_t>(count_), stream_);
  }
  std::vector<float> Values() {
    std::vector<float> values(count_);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), data_, Bytes(), cudaMemcpyDeviceToHost, stream_),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return values;
  }

 private:
  size_t Bytes() const { return count_ * sizeof(float); }
  const size_t count_;
  float* data_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

std::vector<float> PartOf(int rank, size_t count) {
  std::vector<float> part(count);
  for (size_t i = 0; i < count; ++i) {
    part[i] = static_cast<float>((i * 31 + static_cast<size_t>(rank) * 17) % 101) / 7.0f;
  }
  return part;
}

std::vector<float> SumOfParts(int ranks, size_t count) {
  std::vector<float> sum = PartOf(0, count);
  for (int rank = 1; rank < ranks; ++rank) {
    for (size_t i = 0; i < count; ++i) sum[i] += PartOf(rank, count)[i];
  }
  return sum;
}

TEST_F(NcclTest, EveryRankGetsTheSumOfDeviceMemory) {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const size_t count : {1u, 3u, 257u}) {
      const std::vector<float> expected = SumOfParts(ranks, count);
      Run(ranks, [&](auto communicator) {
        EXPECT_EQ(communicator->size(), ranks);
        OnDevice numbers(PartOf(communicator->rank(), count));
        for (int i = 0; i < 2; ++i) {  // in the stream's order, without waiting in between
          const BackendError error = numbers.Sum(*communicator);
          ASSERT_TRUE(error.ok()) << error.message;
        }
        std::vector<float> twice = expected;
        for (float& value : twice) value *= static_cast<float>(ranks);
        const std::vector<float> values = numbers.Values();
        for (size_t i = 0; i < count; ++i) EXPECT_FLOAT_EQ(values[i], twice[i]);
      });
    }
  }
}

TEST_F(NcclTest, SumsOfHostMemoryAreTheHosts) {
  Run(3, [](auto communicator) {
    std::vector<double> values{1, static_cast<double>(communicator->rank())};
    ASSERT_TRUE(communicator->Sum(values).ok());
    EXPECT_EQ(values, (std::vector<double>{3, 3}));
    OnDevice none({1});
    EXPECT_TRUE(communicator->Sum(nullptr, 0, nullptr).ok());
  });
}

TEST_F(NcclTest, ARankThatIsGoneEndsTheOthersCalls) {
  Run(3, [](auto communicator) {
    OnDevice numbers({1, 2, 3});
    ASSERT_TRUE(numbers.Sum(*communicator).ok());
    EXPECT_EQ(numbers.Values(), (std::vector<float>{3, 6, 9}));
    if (communicator->rank() == 1) return;
    const BackendError error = numbers.Sum(*communicator);
    EXPECT_EQ(error.kind, BackendError::Kind::kPeer);
    EXPECT_EQ(error.message, "rank 1 is gone");
    std::vector<double> values(1);
    EXPECT_EQ(communicator->Sum(values).message, "rank 1 is gone");
  });
}

TEST_F(NcclTest, ARankThatLeavesSaysWhy) {
  Run(2, [](auto communicator) {
    OnDevice numbers({1});
    if (communicator->rank() == 1) communicator->Leave("out of memory");
    EXPECT_EQ(numbers.Sum(*communicator).message, "rank 1 has left: out of memory");
  });
}

// NVIDIA/nccl#395: the others' devices wait for ever for a sum that one has not begun.
TEST_F(NcclTest, ARankThatDiesInTheMiddleOfASumIsFoundByTheWatch) {
  std::latch found(1);
  Run(2, [&](auto communicator) {
    OnDevice numbers({1, 2});
    if (communicator->rank() == 1) {
      std::vector<double> here{1};  // it meets the others, and comes no further
      EXPECT_TRUE(communicator->Sum(here).ok());
      gone_ = true;
      return found.wait();
    }
    EXPECT_TRUE(numbers.Sum(*communicator).ok());
    numbers.Values();  // worth nothing, but there
    found.count_down();
    std::vector<double> values{1};
    const BackendError error = communicator->Sum(values);
    EXPECT_EQ(error.kind, BackendError::Kind::kPeer);
    EXPECT_EQ(error.message, "rank 1 is gone");
  });
}

TEST_F(NcclTest, WhatIsNoIdIsRefused) {
  std::unique_ptr<Communicator> communicator;
  const BackendError error = plugin_.Connect(
      {.id = "short"}, std::move(ThreadCommunicators(1, kTimeout)[0]), &communicator);
  EXPECT_EQ(error.kind, BackendError::Kind::kDevice);
}

TEST(NcclPluginOfOtherHeaders, IsNone) { EXPECT_EQ(GyreNcclPlugin("another"), nullptr); }

}  // namespace
}  // namespace gyre
