// In a build without libsentencepiece.

#include "trainer/data/sentencepiece.h"

namespace gyre {
namespace {

Status Absent() {
  return Unimplemented(
      "this build has no SentencePiece: install libsentencepiece-dev and build again, or use "
      "tokenizer: bytes");
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> OpenSentencePiece(std::string, const std::string&) {
  return Absent();
}

Result<std::string> TrainSentencePiece(const std::vector<std::string>&, int) { return Absent(); }

}  // namespace gyre
