#pragma once

// The documents of a file, one after the other, in pieces: a text file is one document, a line of
// JSON lines is one, a file of token ids is one or has a mark between them. Memory holds a piece,
// of JSON lines a line.

#include <functional>
#include <string_view>

#include "base/status.h"
#include "trainer/data/source_files.h"

namespace gyre {

class DocumentSink {
 public:
  virtual ~DocumentSink() = default;
  /// More of the document; never empty.
  virtual Status Add(std::string_view piece) = 0;
  /// The end of a document that was not empty.
  virtual Status End() = 0;
};

/// Text: a UTF-8 byte order mark is dropped, CRLF becomes LF, everything else stays as it is, valid
/// UTF-8 or not. Empty documents are left out. `on_bytes`, which may be empty, hears how much of
/// the file is read. UNAVAILABLE: the file vanished or changed since it was listed;
/// INVALID_ARGUMENT: UTF-16 or 32, or a line or id that is none, with its place; DATA_LOSS: damaged
/// or cut off; and what the sink says.
Status ReadDocuments(const SourceFile& file, DocumentSink* sink,
                     const std::function<void(uint64_t)>& on_bytes);

}  // namespace gyre
