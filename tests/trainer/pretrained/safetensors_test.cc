#include "trainer/pretrained/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SafetensorsTest : public testing::Test {
 protected:
  SafetensorsTest() { std::filesystem::create_directories(folder_); }
  ~SafetensorsTest() override { std::filesystem::remove_all(folder_); }

  // A file with this header, and data of so many bytes.
  Result<SafetensorsFile> OpenMade(const std::string& header, size_t data_bytes) {
    const uint64_t size = header.size();
    std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
    bytes += header + std::string(data_bytes, '\0');
    EXPECT_TRUE(WriteFileAtomically(folder_ / "made", bytes).ok());
    return SafetensorsFile::Open(folder_ / "made");
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("gyre-safetensors-" + std::to_string(getpid()));
};

TEST_F(SafetensorsTest, WhatIsWrittenIsReadAndItsHashIsTheFiles) {
  const auto path = folder_ / "a.safetensors";
  auto writer = SafetensorsWriter::Create(path, {{"step", "7"}},
                                          {{"w", {2, 2}}, {"none", {0, 3}}, {"b", {1}}});
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE(writer->Append(std::vector<float>{1, -2, 3.5f, 0}).ok());
  ASSERT_TRUE(writer->Append({}).ok());
  ASSERT_TRUE(writer->Append(std::vector<float>{9}).ok());
  const auto written = writer->Finish();
  ASSERT_TRUE(written.ok()) << written.status();

  const auto file = SafetensorsFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(written->hash, Sha256Hex(file->bytes()));
  EXPECT_EQ(written->bytes, static_cast<int64_t>(file->bytes().size()));
  EXPECT_EQ(file->metadata().at("step"), "7");
  ASSERT_NE(file->Find("w"), nullptr);
  EXPECT_EQ(file->Find("absent"), nullptr);
  std::vector<float> values(4);
  ASSERT_TRUE(file->Read(*file->Find("w"), values).ok());
  EXPECT_THAT(values, ElementsAre(1, -2, 3.5f, 0));
  values.resize(3);
  EXPECT_EQ(file->Read(*file->Find("w"), values).code(), StatusCode::kInvalidArgument);
}

TEST_F(SafetensorsTest, AnUnfinishedFileIsRemoved) {
  const auto path = folder_ / "a";
  {
    auto writer = SafetensorsWriter::Create(path, {}, {{"w", {2}}});
    ASSERT_TRUE(writer.ok()) << writer.status();
    EXPECT_EQ(writer->Append(std::vector<float>{1, 2, 3}).code(), StatusCode::kInternal);
    EXPECT_EQ(writer->Finish().status().code(), StatusCode::kInternal);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(SafetensorsTest, HalfPrecisionIsWidened) {
  const std::string header =
      R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[8,10]}})";
  const uint64_t size = header.size();
  const uint16_t bits[5] = {0x3C00, 0xC000, 0x0001, 0x7C00,
                            0x3F80};  // 1, -2, smallest, infinity; 1
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += header;
  bytes.append(reinterpret_cast<const char*>(bits), sizeof bits);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "h", bytes).ok());
  const auto file = SafetensorsFile::Open(folder_ / "h");
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<float> values(4);
  ASSERT_TRUE(file->Read(*file->Find("h"), values).ok());
  EXPECT_THAT(values, ElementsAre(1.0f, -2.0f, 0x1p-24f, std::numeric_limits<float>::infinity()));
  values.resize(1);
  ASSERT_TRUE(file->Read(*file->Find("b"), values).ok());
  EXPECT_THAT(values, ElementsAre(1.0f));
}

TEST_F(SafetensorsTest, DamagedFilesSayWhatIsWrong) {
  const auto message = [&](const std::string& header, size_t bytes) {
    const auto file = OpenMade(header, bytes);
    EXPECT_EQ(file.status().code(), StatusCode::kDataLoss);
    return file.status().message();
  };
  const std::string good = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_TRUE(OpenMade(good, 8).ok());
  EXPECT_THAT(message(good, 7), HasSubstr("outside"));
  EXPECT_THAT(message(good, 9), HasSubstr("length"));
  EXPECT_THAT(message("[]", 0), HasSubstr("JSON object"));
  EXPECT_THAT(message("{", 0), HasSubstr("JSON object"));
  EXPECT_THAT(message(R"({"w":3})", 0), HasSubstr("type"));
  EXPECT_THAT(message(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
              HasSubstr("shape"));
  EXPECT_THAT(message(R"({"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8),
              HasSubstr("shape"));
  EXPECT_THAT(
      message(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
      HasSubstr("shape"));
  EXPECT_THAT(message(R"({"w":{"dtype":"Q7","shape":[2],"data_offsets":[0,8]}})", 8),
              HasSubstr("Q7"));
  EXPECT_THAT(message(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
              HasSubstr("gap"));
  EXPECT_EQ(SafetensorsFile::Open(folder_ / "absent").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "short", "abc").ok());
  EXPECT_EQ(SafetensorsFile::Open(folder_ / "short").status().code(), StatusCode::kDataLoss);
  ASSERT_TRUE(WriteFileAtomically(folder_ / "huge", std::string(8, '\xff') + "{}").ok());
  EXPECT_EQ(SafetensorsFile::Open(folder_ / "huge").status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace gyre
