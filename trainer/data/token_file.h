#pragma once

// Files of token ids, little-endian: nanoGPT's train.bin (no header, 16 bits an id), llm.c's
// (1,024 bytes of header: 20240520, 1, count; 16 bits an id; or 20240801, 7, count; 32 bits).

#include <cstdint>
#include <functional>

#include "base/status.h"
#include "trainer/data/byte_stream.h"

namespace gyre {

class DocumentSink;

/// The ids as 32-bit little-endian bytes. With a `document_start` (not -1) each such id begins a
/// new document and is no part of it; else the file is one document. INVALID_ARGUMENT: an odd size,
/// a size that the header does not say, an id that is not below `ids`, each with its place.
Status ReadTokenFile(ByteStream* file, uint64_t size, int ids, int document_start,
                     DocumentSink* sink, const std::function<void()>& on_piece);

}  // namespace gyre
