#pragma once

// JSON lines: an object a line, a document an object. What of the object is the text is a field, or
// a template with fields.

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

/// A longer line is refused: it would have to fit into memory.
inline constexpr size_t kMaxJsonLineBytes = size_t{64} << 20;

/// At most one is not empty. Both empty: the first of text, content and story that the first object
/// has, for the whole file.
struct RecordFormat {
  std::string field;
  std::string text_template;  // "Question: {question}\nAnswer: {answer}\n"; {{ and }} are braces
  friend bool operator==(const RecordFormat&, const RecordFormat&) = default;
};

/// INVALID_ARGUMENT: a template whose braces don't pair, or that has no field.
Status CheckRecordFormat(const RecordFormat& format);

class RecordReader {
 public:
  explicit RecordReader(RecordFormat format) : format_(std::move(format)) {}
  /// The text of the object on a line. A number, true or false in a template is written as it
  /// stands there. INVALID_ARGUMENT: no object, no such field, or a field that is no text.
  Result<std::string> TextOf(std::string_view line);

 private:
  RecordFormat format_;
};

}  // namespace gyre
