#pragma once

// A folder of its own for each test, removed afterwards.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace gyre {

class TemporaryHomeTest : public testing::Test {
 protected:
  TemporaryHomeTest() {
    std::filesystem::remove_all(home_);
    std::filesystem::create_directories(home_);
  }
  ~TemporaryHomeTest() override { std::filesystem::remove_all(home_); }

  /// Writes home/NAME and returns its path.
  std::string Write(const std::string& name, const std::string& content) {
    const std::filesystem::path path = home_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  std::string Path(const std::string& name) const { return (home_ / name).string(); }

  const std::filesystem::path home_ = std::filesystem::path(testing::TempDir()) /
                                      ("gyre-" + Name() + "-" + std::to_string(getpid()));

 private:
  /// Of the test; one with a parameter has a slash in it.
  static std::string Name() {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(name.begin(), name.end(), '/', '-');
    return name;
  }
};

}  // namespace gyre
