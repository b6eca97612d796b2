#include "trainer/pretrained/gguf_file.h"

#include <gmock/gmock.h>

#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/pretrained/made_gguf.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GgufFileTest : public TemporaryHomeTest {
 protected:
  std::string Error(const std::string& content) {
    const auto file = GgufFile::Open(Write("x.gguf", content));
    EXPECT_FALSE(file.ok());
    return file.ok() ? "" : file.status().message();
  }
  std::string Error(const MadeGguf& made) { return Error(made.File()); }

  // The values of the tensor "t", of one block or more.
  std::vector<float> Read(uint32_t type, uint64_t columns, const std::string& data) {
    const auto file =
        GgufFile::Open(Write("x.gguf", MadeGguf().Tensor("t", {columns}, type, data).File()));
    EXPECT_TRUE(file.ok()) << file.status();
    if (!file.ok()) return {};
    std::vector<float> values(columns);
    EXPECT_TRUE(file->tensors().Read(*file->tensors().Find("t"), 0, values).ok());
    return values;
  }
};

TEST_F(GgufFileTest, ValuesAndTensors) {
  MadeGguf made;
  made.Text("general.architecture", "llama")
      .Count("llama.block_count", 30)
      .Number("llama.attention.layer_norm_rms_epsilon", 1e-5f)
      .Value("flag", 7, std::string(1, '\1'))
      .Value("least", 11, Bytes(int64_t{-5}))
      .Texts("tokens", {"a", "", "bc"})
      .Wholes("kinds", {1, -3})
      .Value("scores", 9, Bytes(uint32_t{6}) + Bytes(uint64_t{2}) + FloatBytes({0.5f, -2}))
      .Tensor("w", {3, 2}, 0, FloatBytes({1, 2, 3, 4, 5, 6}))
      .Tensor("b", {2}, 30, Bytes(uint32_t{0xC0403F80}));  // 1 and -3 in bfloat16
  for (const uint32_t version : {2, 3}) {
    const auto file = GgufFile::Open(Write("x.gguf", made.File(version)));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->values(), (Json{{"general.architecture", "llama"},
                                    {"llama.block_count", 30},
                                    {"llama.attention.layer_norm_rms_epsilon", 1e-5},
                                    {"flag", true},
                                    {"least", -5}}));
    EXPECT_THAT(*file->Strings("tokens"), ElementsAre("a", "", "bc"));
    EXPECT_THAT(*file->WholeNumbers("kinds"), ElementsAre(1, -3));
    EXPECT_THAT(*file->Floats("scores"), ElementsAre(0.5f, -2));
    EXPECT_FALSE(file->Floats("kinds").ok());
    EXPECT_FALSE(file->Strings("kinds").ok());
    EXPECT_FALSE(file->WholeNumbers("none").ok());
    const TensorEntry* w = file->tensors().Find("w");
    EXPECT_THAT(w->shape, ElementsAre(2, 3));
    std::vector<float> values(4);
    ASSERT_TRUE(file->tensors().Read(*w, 2, values).ok());
    EXPECT_THAT(values, ElementsAre(3, 4, 5, 6));
    EXPECT_FALSE(file->tensors().Read(*w, 3, values).ok());
    values.resize(2);
    ASSERT_TRUE(file->tensors().Read(*file->tensors().Find("b"), 0, values).ok());
    EXPECT_THAT(values, ElementsAre(1, -3));
  }
}

TEST_F(GgufFileTest, BlocksOfThirtyTwo) {
  const std::string half_of_half = Bytes(uint16_t{0x3800});  // 0.5
  const std::string minus_two = Bytes(uint16_t{0xC000});
  std::string nibbles;
  for (int i = 0; i < 16; ++i) nibbles += static_cast<char>(i | (15 - i) << 4);
  std::vector<float> low, least, whole;
  for (int i = 0; i < 32; ++i) {
    const int q = i < 16 ? i : 31 - i;
    low.push_back(0.5f * static_cast<float>(q - 8));
    least.push_back(0.5f * static_cast<float>(q) - 2);
    whole.push_back(0.5f * static_cast<float>(i - 20));
  }
  EXPECT_EQ(Read(2, 32, half_of_half + nibbles), low);
  EXPECT_EQ(Read(3, 32, half_of_half + minus_two + nibbles), least);
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes += static_cast<char>(i - 20);
  EXPECT_EQ(Read(8, 32, half_of_half + bytes), whole);

  // Any part of several blocks.
  const std::string two = half_of_half + bytes + Bytes(uint16_t{0x3C00}) + bytes;
  const auto file = GgufFile::Open(Write("x.gguf", MadeGguf().Tensor("t", {32, 2}, 8, two).File()));
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<float> values(4);
  ASSERT_TRUE(file->tensors().Read(*file->tensors().Find("t"), 30, values).ok());
  EXPECT_THAT(values, ElementsAre(5, 5.5f, -20, -19));
}

TEST_F(GgufFileTest, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(Error(MadeGguf().TensorAt("blk.0.ffn_up.weight", {256}, 12, 0)),
              HasSubstr("tensor blk.0.ffn_up.weight is quantized as Q4_K; F32, F16, BF16, Q8_0, "
                        "Q4_0, Q4_1 can be read"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {256}, 99, 0)), HasSubstr("type 99, which is not"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {32}, 4, 0)), HasSubstr("type 4, which is not"));
  EXPECT_THAT(Error(MadeGguf().File(1)), HasSubstr("version 1; 2 and 3"));
  EXPECT_THAT(Error(MadeGguf().File(0x03000000)), HasSubstr("big-endian"));
}

TEST_F(GgufFileTest, DamageIsNamedAndTakesNoMemory) {
  const uint64_t huge = UINT64_MAX / 2;
  const std::string whole = MadeGguf()
                                .Text("key", "value")
                                .Texts("list", {"a", "b"})
                                .Tensor("w", {8}, 0, std::string(32, '\0'))
                                .File();
  ASSERT_TRUE(GgufFile::Open(Write("x.gguf", whole)).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(Error(whole.substr(0, length)), "") << length;
  }
  const std::string head = "GGUF" + Bytes(uint32_t{3});
  EXPECT_THAT(Error(head + Bytes(huge) + Bytes(uint64_t{0})), HasSubstr("cut off"));
  EXPECT_THAT(Error(head + Bytes(uint64_t{0}) + Bytes(huge)), HasSubstr("values"));
  EXPECT_THAT(Error(MadeGguf().Value("k", 8, Bytes(huge))), HasSubstr("cut off"));
  const auto list = [](uint32_t type, uint64_t count) { return Bytes(type) + Bytes(count); };
  for (const uint32_t type : {0, 5, 8, 12}) {
    EXPECT_THAT(Error(MadeGguf().Value("k", 9, list(type, huge))), HasSubstr("cut off"));
  }
  EXPECT_THAT(Error(MadeGguf().Value("k", 9, list(9, 1))), HasSubstr("list of an unknown type"));
  EXPECT_THAT(Error(MadeGguf().Value("k", 13, "")), HasSubstr("unknown type 13"));
  EXPECT_THAT(Error(MadeGguf().Count("k", 1).Count("k", 1)), HasSubstr("comes twice"));
  EXPECT_THAT(Error(MadeGguf().Count(std::string(70000, 'k'), 1)), HasSubstr("too long"));
  EXPECT_THAT(Error(MadeGguf().Count("general.alignment", 0)), HasSubstr("power of two"));
  EXPECT_THAT(Error(MadeGguf().Count("general.alignment", 48)), HasSubstr("power of two"));
  EXPECT_THAT(Error(MadeGguf().Text("general.alignment", "32")), HasSubstr("power of two"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {1, 1, 1, 1, 1}, 0, 0)), HasSubstr("5 dimensions"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {huge, huge}, 0, 0)), HasSubstr("cannot have"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {UINT64_MAX}, 0, 0)), HasSubstr("impossible shape"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {16, 2}, 2, 0)), HasSubstr("Q4_0 cannot have"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {8}, 0, 1)), HasSubstr("multiple of 32"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {8}, 0, UINT64_MAX - 31)), HasSubstr("outside"));
  EXPECT_THAT(Error(MadeGguf().TensorAt("t", {8}, 0, 0)), HasSubstr("outside the file"));
  EXPECT_THAT(
      Error(MadeGguf().Tensor("a", {16}, 0, std::string(64, '\0')).TensorAt("b", {8}, 0, 32)),
      HasSubstr("the tensors a and b overlap"));
  EXPECT_THAT(Error(MadeGguf()
                        .Tensor("a", {8}, 0, std::string(32, '\0'))
                        .Tensor("a", {8}, 0, std::string(32, '\0'))),
              HasSubstr("two tensors named a"));
  EXPECT_EQ(GgufFile::Open(Path("absent")).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace gyre
