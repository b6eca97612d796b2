#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

namespace gyre {
namespace {

// FIPS 180-4 examples, and lengths around the block's edge.
TEST(Sha256, PublishedExamples) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, WithAndWithoutTheProcessorsInstructions) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * i * 7 + i);
  for (size_t length = 0; length <= text.size(); ++length) {
    Sha256 plain = Sha256::InPlainArithmetic();
    plain.Update(text.substr(0, length));
    ASSERT_EQ(plain.Finish(), Sha256Hex(text.substr(0, length))) << length;
  }
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  const std::string text(300, 'x');
  for (size_t cut = 0; cut <= text.size(); cut += 7) {
    Sha256 hash;
    hash.Update(text.substr(0, cut));
    hash.Update(text.substr(cut));
    EXPECT_EQ(hash.Finish(), Sha256Hex(text)) << cut;
  }
}

}  // namespace
}  // namespace gyre
