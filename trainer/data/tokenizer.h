#pragma once

// Text to token ids. `bytes` is the only tokenizer so far: ids 0-255 are the bytes themselves, 256
// is the start of a document.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trainer/config/job_config.h"

namespace gyre {

class Tokenizer {
 public:
  /// From the job's `data.tokenizer`; null is bytes. UNIMPLEMENTED: known but not yet supported.
  static Result<std::unique_ptr<Tokenizer>> Create(const Json& tokenizer);
  virtual ~Tokenizer() = default;

  /// What the hash of a data set has for it: equal identities, equal ids for equal text.
  virtual std::string identity() const = 0;
  virtual int vocab_size() const = 0;
  virtual int32_t document_start() const = 0;
  /// Appends the ids of `text`, without a document start.
  virtual void Encode(std::string_view text, std::vector<int32_t>* ids) const = 0;
};

}  // namespace gyre
