#include "proto/event_file.h"

#include <boost/crc.hpp>
#include <cmath>
#include <limits>

#include "tensorboard/event.pb.h"

namespace gyre {
namespace {

std::string LittleEndian(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

// CRC-32C, turned and shifted so that the checksum of text that holds checksums is a good one, too.
std::string MaskedChecksum(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const uint32_t sum = crc.checksum();
  return LittleEndian(static_cast<uint32_t>(((sum >> 15) | (sum << 17)) + 0xa282ead8U), 4);
}

float Float(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::abs(value) <= kMost || std::isnan(value)) return static_cast<float>(value);
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  return value < 0 ? -kInfinite : kInfinite;
}

std::string Record(const tensorboard::Event& event) {
  const std::string data = event.SerializeAsString();
  const std::string length = LittleEndian(data.size(), 8);
  return length + MaskedChecksum(length) + data + MaskedChecksum(data);
}

}  // namespace

std::string EventFileStart(double wall_time) {
  tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_file_version("brain.Event:2");
  return Record(event);
}

std::string ScalarEvent(double wall_time, int64_t step, std::string_view tag, double value) {
  tensorboard::Event event;
  event.set_wall_time(wall_time);
  event.set_step(step);
  tensorboard::Summary::Value* scalar = event.mutable_summary()->add_value();
  scalar->set_tag(std::string(tag));
  scalar->set_simple_value(Float(value));
  return Record(event);
}

}  // namespace gyre
