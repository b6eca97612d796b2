#include "bench/gpu_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/bench_device.h"

namespace gyre {
namespace {

using testing::HasSubstr;

// 32768 tokens a step in 0.1 s by Gyre on an H200; PyTorch had no room.
CaseResult MadeUp(const std::string& device) {
  CaseResult result{*FindBenchCase("124M", "gpt", "bf16", 1), {}, {}};
  result.bench_case.backend = "cuda";
  ContestantResult gyre{.name = "gyre"}, pytorch{.name = "pytorch"};
  gyre.samples = {{.seconds = 0.1}, {.seconds = 0.1}, {.seconds = 0.2}};
  gyre.about = {{"device", device}, {"device_memory", int64_t{3} << 30}};
  pytorch.absent = "OutOfMemoryError: tried to allocate 12 GiB";
  result.contestants = {gyre, pytorch};
  return result;
}

TEST(GpuReport, Shapes) {
  // GPT-2's smallest with its vocabulary padded, without its positions: 123.6 million.
  const BenchCase gpt = *FindBenchCase("124M", "gpt", "bf16", 1);
  const int64_t layer = int64_t{4} * 768 * 768 + int64_t{2} * 768 * 3072;
  EXPECT_EQ(ParameterCount(gpt.Model()), 12 * (layer + 2 * 768) + int64_t{50304} * 768 + 768);
  EXPECT_DOUBLE_EQ(gpt.FlopsPerToken(), 6.0 * (12.0 * static_cast<double>(layer) + 50304.0 * 768) +
                                            12.0 * 12 * 768 * 1024);
  // Four heads of 256 are not as wide as the model.
  const BenchCase gemma = *FindBenchCase("1B-8k", "gemma", "bf16", 1);
  EXPECT_EQ(gemma.Model().head_dim, 256);
  EXPECT_NEAR(static_cast<double>(ParameterCount(gemma.Model())), 1.0e9, 1e7);
  EXPECT_EQ(gemma.Numbers()["kv_heads"], 1);
}

TEST(GpuReport, PeaksOfDevices) {
  EXPECT_DOUBLE_EQ(PeakOfDevice("NVIDIA H200", "bf16"), 989e12);
  EXPECT_DOUBLE_EQ(PeakOfDevice("NVIDIA H100 80GB HBM3", "tf32"), 494.5e12);
  EXPECT_DOUBLE_EQ(PeakOfDevice("NVIDIA H100 PCIe", "bf16"), 756e12);
  EXPECT_DOUBLE_EQ(PeakOfDevice("NVIDIA A100-SXM4-80GB", "bf16"), 312e12);
  EXPECT_EQ(PeakOfDevice("NVIDIA H200", "float32"), 0);
  EXPECT_EQ(PeakOfDevice("NVIDIA GeForce RTX 4090", "bf16"), 0);
}

TEST(GpuReport, SaysWhatTheDeviceWasUsedFor) {
  const CaseResult result = MadeUp("NVIDIA H200");
  const double mfu = 327680 * result.bench_case.FlopsPerToken() / 989e12;
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.1f %%", 100 * mfu);
  EXPECT_THAT(
      GpuTable({result}),
      HasSubstr("| 124M gpt bf16 | 1024 x 32 | 327680 (218453..327680) | " + std::string(percent) +
                " | 3.0 GiB | absent: OutOfMemoryError: tried to allocate 12 GiB |  |  |  |"));
  EXPECT_THAT(GpuCaseText(result), HasSubstr("MFU " + std::string(percent)));
  EXPECT_THAT(GpuTable({MadeUp("a device of tomorrow")}), HasSubstr("(218453..327680) |  | 3.0"));
}

}  // namespace
}  // namespace gyre
