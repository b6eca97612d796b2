#include <gmock/gmock.h>
#include <zstd.h>

#include "tests/trainer/data/temporary_home.h"
#include "trainer/data/byte_stream.h"

namespace gyre {
namespace {

using testing::HasSubstr;

std::string Packed(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

class ZstdTest : public TemporaryHomeTest {
 protected:
  Result<std::string> Unpacked(const std::string& content) {
    GYRE_ASSIGN_OR_RETURN(const auto stream, OpenByteStream(Write("a.zst", content)));
    std::string text(size_t{1} << 24, '\0');
    GYRE_ASSIGN_OR_RETURN(const size_t size, stream->ReadFull(text.data(), text.size()));
    text.resize(size);
    return text;
  }
};

TEST_F(ZstdTest, FramesAreReadEndToEndAndDamageIsSaid) {
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string packed = Packed(text);
  EXPECT_EQ(*Unpacked(packed), text);
  EXPECT_EQ(*Unpacked(packed + Packed("more")), text + "more");
  EXPECT_EQ(*Unpacked(Packed("")), "");
  for (const size_t size : {size_t{0}, size_t{3}, packed.size() / 2, packed.size() - 1}) {
    const Status status = Unpacked(packed.substr(0, size)).status();
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << size;
    EXPECT_THAT(status.message(), HasSubstr("cut off"));
  }
  EXPECT_THAT(Unpacked("not packed at all").status().message(), HasSubstr("damaged"));
  EXPECT_THAT(Unpacked(packed + "garbage").status().message(), HasSubstr("damaged"));
}

}  // namespace
}  // namespace gyre
