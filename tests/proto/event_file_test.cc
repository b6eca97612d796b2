#include "proto/event_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

namespace gyre {
namespace {

// Reads a file again, by the formats' descriptions and not by the code that wrote it: CRC-32C bit
// by bit, protobuf's fields by hand.

uint32_t Checksum(const std::string& bytes) {
  uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~crc;
}
uint32_t Masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8; }

uint64_t Fixed(const std::string& bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes.at(at + static_cast<size_t>(i)));
  }
  return value;
}

struct Field {
  uint64_t number = 0;    // the field's
  uint64_t value = 0;     // of a varint, fixed32 or fixed64
  std::string contained;  // of a length-delimited one
};

std::vector<Field> Fields(const std::string& message) {
  std::vector<Field> fields;
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(message.at(at++));
      value |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < message.size()) {
    const uint64_t key = varint();
    Field& field = fields.emplace_back(Field{.number = key >> 3});
    const auto take = [&](int bytes) {
      field.value = Fixed(message, at, bytes);
      at += static_cast<size_t>(bytes);
    };
    switch (key & 7) {
      case 0:
        field.value = varint();
        break;
      case 1:
        take(8);
        break;
      case 5:
        take(4);
        break;
      default:
        field.value = varint();
        field.contained = message.substr(at, field.value);
        at += field.value;
    }
  }
  return fields;
}

struct ReadEvent {
  double wall_time = 0;
  int64_t step = 0;
  std::string version, tag;
  std::optional<float> value;
};

ReadEvent EventOf(const std::string& message) {
  ReadEvent event;
  for (const Field& field : Fields(message)) {
    if (field.number == 1) std::memcpy(&event.wall_time, &field.value, 8);
    if (field.number == 2) event.step = static_cast<int64_t>(field.value);
    if (field.number == 3) event.version = field.contained;
    if (field.number != 5) continue;
    for (const Field& value : Fields(field.contained)) {
      EXPECT_EQ(value.number, 1u);
      for (const Field& part : Fields(value.contained)) {
        if (part.number == 1) event.tag = part.contained;
        if (part.number == 2) {
          const auto bits = static_cast<uint32_t>(part.value);
          std::memcpy(&event.value.emplace(), &bits, 4);
        }
      }
    }
  }
  return event;
}

std::vector<ReadEvent> Read(const std::string& file) {
  std::vector<ReadEvent> events;
  for (size_t at = 0; at < file.size();) {
    const uint64_t length = Fixed(file, at, 8);
    EXPECT_EQ(Fixed(file, at + 8, 4), Masked(Checksum(file.substr(at, 8))));
    const std::string data = file.substr(at + 12, length);
    EXPECT_EQ(Fixed(file, at + 12 + length, 4), Masked(Checksum(data)));
    events.push_back(EventOf(data));
    at += 16 + length;
  }
  return events;
}

// What every event file on Earth begins with: the length 24 and its checksum.
TEST(EventFile, BeginsLikeAnyOther) {
  EXPECT_EQ(Checksum("123456789"), 0xe3069283);  // this file's own, against the published value
  const std::string start = EventFileStart(1.5);
  EXPECT_EQ(start.substr(0, 12), std::string("\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22", 12));
  const auto events = Read(start);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, 1.5);
}

TEST(EventFile, ScalarsAreReadBackAsTheyWere) {
  const std::string long_tag(300, 'x');
  const auto events =
      Read(EventFileStart(0) + ScalarEvent(1'780'000'000.25, 0, "train/loss", 2.5) +
           ScalarEvent(0, 5'000'000'000, "gcide/loss/64-256 θ", -0.1) +
           ScalarEvent(0, 1, long_tag, std::nan("")) + ScalarEvent(0, 2, "m", 1e300) +
           ScalarEvent(0, 2, "m", -std::numeric_limits<double>::infinity()));
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[1].wall_time, 1'780'000'000.25);
  EXPECT_EQ(events[1].tag, "train/loss");
  EXPECT_EQ(events[1].step, 0);
  EXPECT_EQ(events[1].value, 2.5F);
  EXPECT_EQ(events[2].step, 5'000'000'000);
  EXPECT_EQ(events[2].tag, "gcide/loss/64-256 θ");
  EXPECT_EQ(events[2].value, -0.1F);
  EXPECT_EQ(events[3].tag, long_tag);
  EXPECT_TRUE(std::isnan(*events[3].value));
  EXPECT_EQ(events[4].value, std::numeric_limits<float>::infinity());
  EXPECT_EQ(events[5].value, -std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace gyre
