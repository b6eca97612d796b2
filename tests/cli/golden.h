#pragma once

// Golden files: what a person should see, kept beside the test. UPDATE_GOLDEN=1 writes them anew.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"

namespace gyre {

inline void ExpectGolden(const std::string& name, const std::string& actual) {
  const std::filesystem::path path = std::filesystem::path("tests/cli/golden") / name;
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    const Status written = WriteFileAtomically(path, actual);
    ASSERT_TRUE(written.ok()) << written;
  }
  const auto expected = ReadFile(path);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(actual, *expected) << "(UPDATE_GOLDEN=1 writes " << path << ")";
}

}  // namespace gyre
