#pragma once

// Writes what ReadRdataStrings reads.

#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gyre::made_rdata {

inline std::string Int(int32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

inline std::string Deflate(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string out(size, '\0');
  compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
           text.size());
  out.resize(size);
  return out;
}

inline std::string Block(const std::string& serialized) {
  return Int(static_cast<int32_t>(serialized.size())) + Deflate(serialized);
}

inline std::string Header(int version) {
  std::string header = "X\n" + Int(version) + Int(0x40201) + Int(0x30500);
  if (version == 3) header += Int(5) + "UTF-8";
  return header;
}

inline std::string Vector(int version, const std::vector<std::string>& strings) {
  std::string out = Header(version) + Int(16) + Int(static_cast<int32_t>(strings.size()));
  for (const auto& s : strings) out += Int(0x40009) + Int(static_cast<int32_t>(s.size())) + s;
  return out;
}

}  // namespace gyre::made_rdata
