// What only the CPU backend promises: its exponential, its division of work, its threads, its
// refusals.

#include "trainer/backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "trainer/backend/cpu/kernels/vector_math.h"
#include "trainer/backend/cpu/thread_pool.h"

namespace gyre {
namespace {

TEST(Exp, IsWithinItsErrorEverywhere) {
  double worst = 0;
  for (float x = -87.3f; x <= 88.0f; x += 0.00037f) {
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(cpu::Exp(x) - exact) / exact);
  }
  EXPECT_LT(worst, 2e-7);
}

TEST(Exp, EndsWhereFloatsEnd) {
  EXPECT_EQ(cpu::Exp(0.0f), 1.0f);
  EXPECT_EQ(cpu::Exp(-INFINITY), 0.0f);
  EXPECT_EQ(cpu::Exp(-88.0f), 0.0f);
  EXPECT_EQ(cpu::Exp(1000.0f), cpu::Exp(88.0f));
  EXPECT_TRUE(std::isfinite(cpu::Exp(INFINITY)));
  EXPECT_TRUE(std::isnan(cpu::Exp(NAN)));
}

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

TEST(CpuBackend, SaysWhyThereIsNone) {
  EXPECT_EQ(CreateCpuBackend(0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CreateCpuBackend(1, "mmx").status().ToString(),
            "INVALID_ARGUMENT: this processor has no instruction set 'mmx'");
}

TEST(CpuBackend, FingerprintNamesWhatDecidesTheBits) {
  EXPECT_TRUE(CreateCpuBackend(1, CpuInstructionSet()).ok()) << CpuInstructionSet();
  EXPECT_NE(CpuLibraries(), "");
}

TEST(CpuBackend, AnOperationBeyondTheWorkspaceIsAnError) {
  auto backend = CreateCpuBackend(1);
  ASSERT_TRUE(backend.ok());
  Reals memory;
  ASSERT_TRUE((*backend)->Allocate(1000, &memory).ok());
  ASSERT_TRUE((*backend)->Reserve({.tokens = 4, .length = 4, .head_dim = 8}).ok());
  (*backend)->AttentionForward({.rows = 1,
                                .length = 8,
                                .heads = 1,
                                .kv_heads = 1,
                                .head_dim = 8,
                                .qkv = memory,
                                .output = memory.At(500),
                                .log_sum_exp = memory.At(900)});
  std::vector<double> value(1);
  EXPECT_EQ((*backend)->Read(memory, value).kind, BackendError::Kind::kDevice);
  (*backend)->Free(memory);
}

}  // namespace
}  // namespace gyre
