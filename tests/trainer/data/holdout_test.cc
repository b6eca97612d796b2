#include "trainer/data/holdout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/hash.h"

namespace gyre {
namespace {

std::vector<uint64_t> Hashes(int count) {
  std::vector<uint64_t> hashes;
  for (int i = 0; i < count; ++i) hashes.push_back(HashPrefix(Sha256Hex(std::to_string(i))));
  return hashes;
}

// In pieces of every size the same.
uint64_t Tail(const std::string& text) {
  std::vector<uint64_t> cuts;
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}}) {
    HeldOutTail tail(text.size());
    for (size_t at = 0; at < text.size(); at += piece)
      tail.Add(std::string_view(text).substr(at, piece));
    cuts.push_back(tail.cut());
  }
  EXPECT_EQ(cuts[0], cuts[1]);
  EXPECT_EQ(cuts[0], cuts[2]);
  return cuts[0];
}

int64_t Count(const std::vector<bool>& held_out) {
  return std::count(held_out.begin(), held_out.end(), true);
}

TEST(HoldoutTest, TheShareIsAboutWhatIsAskedFor) {
  EXPECT_NEAR(static_cast<double>(Count(HeldOut(Hashes(10'000), 0.05))), 500, 70);
  EXPECT_EQ(Count(HeldOut(Hashes(100), 0)), 0);
}

TEST(HoldoutTest, BothSidesGetOneOfTwo) {
  for (const double holdout : {0.001, 0.5, 0.999}) {
    for (int count = 2; count < 20; ++count) {
      const int64_t held_out = Count(HeldOut(Hashes(count), holdout));
      EXPECT_GE(held_out, 1);
      EXPECT_LE(held_out, count - 1);
    }
  }
}

TEST(HoldoutTest, EqualDocumentsAreOnOneSideWhateverTheirOrder) {
  std::vector<uint64_t> hashes = Hashes(50);
  for (const uint64_t hash : Hashes(50)) hashes.push_back(hash);
  const std::vector<bool> held_out = HeldOut(hashes, 0.2);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(held_out[i], held_out[i + 50]);
  std::vector<uint64_t> reversed(hashes.rbegin(), hashes.rend());
  std::vector<bool> back = HeldOut(reversed, 0.2);
  std::reverse(back.begin(), back.end());
  EXPECT_EQ(back, held_out);
}

TEST(HoldoutTest, TheTailIsATenthFromALineEndOn) {
  EXPECT_EQ(Tail(std::string(100, 'x')), 90u);
  EXPECT_EQ(Tail(std::string(92, 'x') + "\n" + std::string(7, 'x')), 93u);
  EXPECT_EQ(Tail(std::string(89, 'x') + "\n" + std::string(10, 'x')), 90u);
  EXPECT_EQ(Tail(std::string(98, 'x') + "\nx"), 90u);  // too near the end
  EXPECT_EQ(Tail("short"), 5u);                        // nothing to hold out
  EXPECT_EQ(Tail(""), 0u);
}

TEST(HoldoutTest, TheTailNeverBeginsInsideACharacter) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xE2\x82\xAC";  // the euro sign, 3 bytes
  for (size_t cut_off = 0; cut_off < 12; ++cut_off) {
    const std::string shorter = text.substr(0, text.size() - 3 * cut_off);
    EXPECT_EQ(Tail(shorter) % 3, 0u);
  }
}

}  // namespace
}  // namespace gyre
