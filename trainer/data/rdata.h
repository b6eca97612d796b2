#pragma once

// Character vectors out of an R package's lazy-load database (Rdata.rdb), without R: how Debian
// packages text for R. The file is a row of blocks, each a big-endian u32 (length when inflated)
// and a zlib stream of R's XDR serialization (R Internals, "Serialization Formats"):
//
//   "X\n"  i32 version  i32 writer  i32 oldest reader  [version 3: i32 n, n bytes of an encoding's
//   name] i32 flags (low byte 16 = character vector)  i32 count count x { i32 flags (low byte 9 =
//   string)  i32 length (-1 = NA)  bytes }            all big-endian
//
// Objects of other kinds are passed over.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gyre {

/// The character vectors of the file in its order; NA is an empty string. DATA_LOSS: a character
/// vector is damaged, or the file has none.
Result<std::vector<std::vector<std::string>>> ReadRdataStrings(std::string_view rdb);

}  // namespace gyre
