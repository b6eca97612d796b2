// What only the CPU backend promises: its division of work, its threads, its refusals.

#include "trainer/backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <cmath>
#include <fstream>
#include <vector>

#include "trainer/backend/cpu/thread_pool.h"

namespace gyre {
namespace {

TEST(Split, CoversEverythingOnceInWholeGrains) {
  for (const int64_t count : {0, 1, 5, 16, 17, 100, 257}) {
    for (const int parts : {1, 2, 3, 7}) {
      for (const int64_t grain : {1, 16}) {
        int64_t next = 10;
        for (int part = 0; part < parts; ++part) {
          const cpu::Range range = cpu::Split({10, 10 + count}, parts, part, grain);
          EXPECT_EQ(range.begin, next);
          EXPECT_GE(range.size(), 0);
          if (range.end != 10 + count) {
            EXPECT_EQ(range.size() % grain, 0);
          }
          next = range.end;
        }
        EXPECT_EQ(next, 10 + count);
      }
    }
  }
}

TEST(ThreadPool, RunsEveryTaskOnEveryThreadOnce) {
  for (const int threads : {1, 2, 5}) {
    auto pool = cpu::ThreadPool::Create(threads);
    ASSERT_TRUE(pool.ok()) << pool.status();
    std::vector<std::atomic<int>> runs(static_cast<size_t>(threads));
    for (int task = 1; task <= 300; ++task) {
      (*pool)->Run([&](int thread) { ++runs[static_cast<size_t>(thread)]; });
      for (const auto& count : runs) ASSERT_EQ(count, task);
    }
  }
}

// The first thread waits in its first item until all others are done: others take the rest of its
// part.
TEST(ThreadPool, SharesEveryItemOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    auto pool = cpu::ThreadPool::Create(threads);
    ASSERT_TRUE(pool.ok()) << pool.status();
    for (const int64_t count : {0, 1, 5, 100}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      std::atomic<int64_t> done = 0;
      (*pool)->Share(count, [&](int64_t i, int thread) {
        ++calls[static_cast<size_t>(i)];
        while (threads > 1 && thread == 0 && done < count - 1) std::this_thread::yield();
        ++done;
      });
      for (const auto& call : calls) EXPECT_EQ(call, 1) << threads << ", " << count;
    }
  }
}

// Tasks about as long as a team spins, so that some fall asleep at every moment that there is: no
// thread may miss a task.
// Tasks about as long as a team spins, so that some fall asleep at every moment that there is: no
// thread may miss a task.
TEST(ThreadPool, SharesItemsOnceAlsoWithoutItsHelp) {
  for (const int threads : {1, 2, 3, 8}) {
    auto pool = cpu::ThreadPool::Create(threads);
    ASSERT_TRUE(pool.ok());
    for (const int64_t count : {0, 1, 5, 100}) {
      std::vector<std::atomic<int>> calls(static_cast<size_t>(count));
      std::atomic<bool> first_waits{true};
      (*pool)->Share(count, [&](int64_t i, int thread) {
        ++calls[static_cast<size_t>(i)];
        // The first thread's part is done by others, who have no more of their own.
        if (thread == 0 && threads > 1 && count == 100) {
          while (first_waits) {
          }
        }
        if (i == 99 / threads) first_waits = false;
      });
      for (const auto& call : calls) EXPECT_EQ(call, 1);
    }
  }
}

TEST(ThreadPool, WakesWhoSleeps) {
  auto pool = cpu::ThreadPool::Create(3);
  ASSERT_TRUE(pool.ok()) << pool.status();
  std::atomic<int64_t> runs = 0;
  std::atomic<uint32_t> sink = 0;
  for (uint32_t task = 0; task < 3000; ++task) {
    (*pool)->Run([&](int thread) {
      const uint32_t steps = (task * 2654435761u >> 16) % 40000 * static_cast<uint32_t>(thread);
      uint32_t x = task;
      for (uint32_t i = 0; i < steps; ++i) x = x * 1664525u + 1013904223u;
      sink += x;
      ++runs;
    });
  }
  EXPECT_EQ(runs, 3 * 3000);
}

TEST(CpuBackend, SaysWhyThereIsNone) {
  EXPECT_EQ(CreateCpuBackend({.threads = 0}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateCpuBackend({.instruction_set = "mmx"}).status().ToString(),
            "INVALID_ARGUMENT: this processor has no instruction set 'mmx'");
}

TEST(CpuBackend, FingerprintNamesWhatDecidesTheBits) {
  EXPECT_TRUE(CreateCpuBackend({.instruction_set = CpuInstructionSet()}).ok())
      << CpuInstructionSet();
  EXPECT_NE(CpuLibraries(), "");
}

// Reserve plans ahead; who asks for more than was planned gets it.
TEST(CpuBackend, AnOperationBeyondTheWorkspaceMakesItGrow) {
  constexpr int kLength = 700, kHeadDim = 8, kTokens = kLength;
  std::vector<std::vector<double>> outputs;
  for (const int reserved : {4, kLength}) {
    auto backend = CreateCpuBackend({});
    ASSERT_TRUE(backend.ok());
    Narrows qkv, output;
    Reals sums;
    ASSERT_TRUE((*backend)->Allocate(kTokens * 3 * kHeadDim, &qkv).ok());
    ASSERT_TRUE((*backend)->Allocate(kTokens * kHeadDim, &output).ok());
    ASSERT_TRUE((*backend)->Allocate(kTokens, &sums).ok());
    std::vector<double> values(kTokens * 3 * kHeadDim);
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
    (*backend)->Write(qkv, values);
    ASSERT_TRUE((*backend)->Reserve({.tokens = 4, .length = reserved, .head_dim = kHeadDim}).ok());
    (*backend)->AttentionForward({.rows = 1,
                                  .length = kLength,
                                  .heads = 1,
                                  .kv_heads = 1,
                                  .head_dim = kHeadDim,
                                  .qkv = qkv,
                                  .output = output,
                                  .log_sum_exp = sums});
    outputs.emplace_back(kTokens * kHeadDim);
    EXPECT_TRUE((*backend)->Read(output, outputs.back()).ok());
    (*backend)->Free(qkv);
    (*backend)->Free(output);
    (*backend)->Free(sums);
  }
  EXPECT_NE(outputs[0].back(), 0.0);
  EXPECT_EQ(outputs[0], outputs[1]);
}

int64_t ResidentBytes() {
  std::ifstream pages("/proc/self/statm");
  int64_t all = 0, resident = 0;
  pages >> all >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// A trainer runs one job after the other. The library keeps code for a thousand shapes at most, and
// so does nobody else.
TEST(CpuBackend, ModelsOfManyShapesInARowLeaveNothing) {
  constexpr int kWidest = 400, kTokens = 30;
  std::vector<int64_t> resident;
  for (int inputs = 100; inputs < kWidest; inputs += 2) {
    auto backend = CreateCpuBackend({});
    ASSERT_TRUE(backend.ok());
    Narrows x;
    Reals weight, y;
    ASSERT_TRUE((*backend)->Allocate(kTokens * kWidest, &x).ok());
    ASSERT_TRUE((*backend)->Allocate(kTokens * kWidest, &weight).ok());
    ASSERT_TRUE((*backend)->Allocate(2 * kTokens * kWidest, &y).ok());
    for (int tokens = 1; tokens <= kTokens; ++tokens) {
      (*backend)->LinearResidualForward({tokens, inputs, 8, x, weight, y, y.At(kTokens * 8)});
    }
    (*backend)->Free(x);
    (*backend)->Free(weight);
    (*backend)->Free(y);
    resident.push_back(ResidentBytes());
  }
  EXPECT_LT(resident.back() - resident[resident.size() / 2], int64_t{20} << 20);
}

}  // namespace
}  // namespace gyre
