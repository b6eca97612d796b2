// What the plug-in says of devices, and what it does where memory ends; on the emulation, whose
// devices the tests choose.

#include "trainer/backend/cuda/plugin.h"

#include <gtest/gtest.h>

#include "tests/emulation/options.h"
#include "trainer/backend/load_cuda.h"

namespace gyre {
namespace {

using emulation::TheOptions;

class Plugin : public testing::Test {
 protected:
  Plugin() { TheOptions().devices = 2; }
  ~Plugin() override { TheOptions() = before_; }

  std::unique_ptr<Backend> Create(CudaOptions options, std::string* error = nullptr) {
    std::unique_ptr<Backend> backend;
    const BackendError created = plugin_.Create(options, &backend);
    if (error != nullptr) *error = created.message;
    return backend;
  }

  const emulation::Options before_ = TheOptions();
  CudaPlugin& plugin_ = **LoadCudaPlugin();
};

TEST_F(Plugin, ReportsEachDevice) {
  const CudaReport report = plugin_.Report();
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.absent, "");
  EXPECT_EQ(report.devices[1].name, "emulated GPU");
  EXPECT_EQ(report.devices[1].memory_bytes, static_cast<int64_t>(TheOptions().memory_bytes));
  EXPECT_EQ(plugin_.FreeBytes(1), report.devices[1].memory_bytes);
  EXPECT_EQ(report.libraries.rfind("cuBLASLt ", 0), 0u);
}

TEST_F(Plugin, SaysWhyThereIsNone) {
  std::string error;
  EXPECT_EQ(Create({.device = 2}, &error), nullptr);
  EXPECT_EQ(error, "there is no cuda:2: this machine has 2 GPUs");
  TheOptions().devices = 0;
  EXPECT_EQ(Create({}, &error), nullptr);
  EXPECT_EQ(error, "the NVIDIA driver finds no GPU: no CUDA-capable device is detected");
}

TEST_F(Plugin, AnotherVersionIsNoPlugin) { EXPECT_EQ(GyreCudaPlugin("another"), nullptr); }

TEST_F(Plugin, WhatIsRefusedChangesNothing) {
  TheOptions().memory_bytes = uint64_t{64} << 20;
  const auto backend = Create({.device = 1});
  ASSERT_NE(backend, nullptr);
  const int64_t free_bytes = plugin_.FreeBytes(1);
  Reals place, other;
  const BackendError error = backend->Allocate(int64_t{16} << 20, &place);
  EXPECT_EQ(error.kind, BackendError::Kind::kOutOfMemory);
  EXPECT_NE(error.message.find("cuda:1, of whose 64 MiB"), std::string::npos) << error.message;
  EXPECT_EQ(plugin_.FreeBytes(1), free_bytes);
  ASSERT_TRUE(backend->Allocate(1000, &other).ok());
  std::vector<double> values(1000, 1.0);
  ASSERT_TRUE(backend->Read(other, values).ok());
  EXPECT_EQ(values, std::vector<double>(1000, 0.0));
  backend->Free(other);
}

TEST_F(Plugin, GivesBackWhatItTook) {
  const int64_t before = plugin_.FreeBytes(0);
  for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
    const auto backend = Create({.precision = precision});
    ASSERT_NE(backend, nullptr);
    Reals weight, y;
    Narrows x;
    ASSERT_TRUE(backend->Allocate(12, &weight).ok());
    ASSERT_TRUE(backend->Allocate(4, &x).ok());
    ASSERT_TRUE(backend->Allocate(6, &y).ok());
    backend->LinearResidualForward({1, 4, 3, x, weight, y, y.At(3)});
    EXPECT_LT(plugin_.FreeBytes(0), before);
    backend->Free(weight);
    backend->Free(x);
    backend->Free(y);
  }
  EXPECT_EQ(plugin_.FreeBytes(0), before);
}

}  // namespace
}  // namespace gyre
