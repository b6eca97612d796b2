// tokenizer.json: what opens takes any text, and its ids are of the vocabulary. (That they do not
// depend on cuts holds of real patterns; one that looks for the beginning of the text has other
// matches where it begins elsewhere.)

#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "trainer/data/tokenizer_json.h"

namespace gyre {
namespace {

constexpr std::string_view kText =
    "It's 1234 <|im_end|>\n\n  na\xC3\xAFve \xE4\xBD\xA0\xE5\xA5\xBD\xFF\xE4 the the  ";

std::vector<int32_t> Encode(Tokenizer* tokenizer, size_t step) {
  std::vector<int32_t> ids;
  std::string rest;
  for (size_t at = 0; at < kText.size(); at += step) {
    rest += kText.substr(at, step);
    rest.erase(0, tokenizer->Encode(rest, at + step >= kText.size(), &ids));
  }
  Require(rest.empty(), "all of a text is taken");
  return ids;
}

}  // namespace
}  // namespace gyre

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto tokenizer = gyre::OpenTokenizerJson(std::string(data, data + size), "fuzz");
  if (!tokenizer.ok()) return 0;
  const std::vector<int32_t> ids = gyre::Encode(tokenizer->get(), gyre::kText.size());
  for (const int32_t id : ids) {
    gyre::Require(id >= 0 && id < (*tokenizer)->vocab_size(), "ids are of the vocabulary");
    (*tokenizer)->BytesOf(id);
  }
  return 0;
}
