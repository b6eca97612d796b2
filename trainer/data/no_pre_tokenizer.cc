// In a build without libpcre2.

#include "trainer/data/pre_tokenizer.h"

namespace gyre {

Result<std::unique_ptr<PreTokenizer>> PreTokenizer::Create(const std::vector<std::string>&) {
  return Unimplemented(
      "this build has no byte-level BPE: install libpcre2-dev and build again, or use tokenizer: "
      "bytes");
}

}  // namespace gyre
