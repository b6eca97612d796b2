#include "trainer/data/pre_tokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <optional>
#include <utility>

namespace gyre {
namespace {

constexpr size_t kMaxPatternBytes = 1 << 14;
constexpr uint32_t kMaxSteps = 5'000'000;  // of one match: bounds what a pattern may cost
constexpr size_t kJitStackBytes = size_t{8} << 20;

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};

struct Pattern {
  std::unique_ptr<pcre2_code, Freed<pcre2_code_free>> code;
  std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data_free>> match;
};

std::string ErrorText(int error) {
  PCRE2_UCHAR text[160] = {};
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

Result<Pattern> Compile(const std::string& text) {
  const auto bad = [&text](const std::string& why) {
    return InvalidArgument("the pattern '" + text.substr(0, 200) + "' " + why);
  };
  if (text.size() > kMaxPatternBytes) return bad("is too long");
  int error = 0;
  PCRE2_SIZE at = 0;
  Pattern pattern;
  pattern.code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at,
                                   nullptr));
  if (pattern.code == nullptr) {
    return bad("is none: " + ErrorText(error) + " at byte " + std::to_string(at));
  }
  uint32_t back = 0;
  pcre2_pattern_info(pattern.code.get(), PCRE2_INFO_MAXLOOKBEHIND, &back);
  if (back > 0) return bad("looks back, which is not supported");
  // Without it matching is slower, and the same.
  pcre2_jit_compile(pattern.code.get(), PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  pattern.match.reset(pcre2_match_data_create_from_pattern(pattern.code.get(), nullptr));
  if (pattern.match == nullptr) return ResourceExhausted("no memory for a pattern");
  return pattern;
}

class PatternPreTokenizer : public PreTokenizer {
 public:
  explicit PatternPreTokenizer(std::vector<Pattern> patterns)
      : patterns_(std::move(patterns)),
        stack_(pcre2_jit_stack_create(1 << 16, kJitStackBytes, nullptr)),
        context_(pcre2_match_context_create(nullptr)) {
    pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
    pcre2_set_match_limit(context_.get(), kMaxSteps);
  }

  size_t Split(std::string_view text, bool last, std::vector<size_t>* lengths) override {
    return SplitFrom(0, text, last, lengths);
  }

 private:
  struct Found {
    size_t begin, end;  // equal: what follows may still make a match from there
  };

  std::optional<Found> Find(Pattern& pattern, std::string_view text, size_t from, bool last) {
    const uint32_t options =
        PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY | (last ? 0u : uint32_t{PCRE2_PARTIAL_HARD});
    const int result = pcre2_match(pattern.code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()),
                                   text.size(), from, options, pattern.match.get(), context_.get());
    const PCRE2_SIZE* places = pcre2_get_ovector_pointer(pattern.match.get());
    if (result == PCRE2_ERROR_PARTIAL) return Found{places[0], places[0]};
    if (result < 0 || places[1] <= places[0] || places[0] < from) return std::nullopt;
    return Found{places[0], places[1]};
  }

  // By the patterns from number `stage` on.
  size_t SplitFrom(size_t stage, std::string_view text, bool last, std::vector<size_t>* lengths) {
    if (text.empty()) return 0;
    if (stage == patterns_.size()) {
      if (!last) return 0;  // the piece may go on
      lengths->push_back(text.size());
      return text.size();
    }
    size_t at = 0;
    while (at < text.size()) {
      const auto found = Find(patterns_[stage], text, at, last);
      if (!found) return at + SplitFrom(stage + 1, text.substr(at), last, lengths);
      SplitFrom(stage + 1, text.substr(at, found->begin - at), /*last=*/true, lengths);
      at = found->begin;
      if (found->end == found->begin) break;
      SplitFrom(stage + 1, text.substr(at, found->end - at), /*last=*/true, lengths);
      at = found->end;
    }
    return at;
  }

  std::vector<Pattern> patterns_;
  std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack_free>> stack_;
  std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context_free>> context_;
};

}  // namespace

Result<std::unique_ptr<PreTokenizer>> PreTokenizer::Create(
    const std::vector<std::string>& patterns) {
  std::vector<Pattern> compiled;
  for (const std::string& text : patterns) {
    GYRE_ASSIGN_OR_RETURN(Pattern pattern, Compile(text));
    compiled.push_back(std::move(pattern));
  }
  return std::unique_ptr<PreTokenizer>(std::make_unique<PatternPreTokenizer>(std::move(compiled)));
}

}  // namespace gyre
