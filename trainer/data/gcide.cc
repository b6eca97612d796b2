#include "trainer/data/gcide.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "base/hash.h"
#include "trainer/data/holdout.h"
#include "trainer/data/text_chunks.h"

namespace gyre {
namespace {

constexpr double kHoldout = 0.05;
constexpr size_t kLongestRemark = 300;  // what is longer is no remark but a lost bracket
constexpr std::string_view kShakespeare = "--Shak.";
constexpr size_t kFewestLetters = 8, kQuoteIndent = 6;

using Lines = std::vector<std::string>;

std::string ValidUtf8(std::string_view line) {
  bool valid = true;
  for (size_t at = 0; at < line.size() && valid;) {
    const size_t length = Utf8Character(line.substr(at));
    valid = length > 0;
    at += length;
  }
  if (valid) return std::string(line);
  std::string text;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | byte >> 6);
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

bool AtMargin(std::string_view line) { return !line.empty() && !IsSpace(line[0]); }

size_t Indent(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// One space between words, none at the ends.
std::string Folded(std::string_view text) {
  std::string folded;
  for (const char c : text) {
    if (!IsSpace(c)) {
      folded += c;
    } else if (!folded.empty() && folded.back() != ' ') {
      folded += ' ';
    }
  }
  if (!folded.empty() && folded.back() == ' ') folded.pop_back();
  return folded;
}

// Drops what stands between `open` and `close`, both included, where it is short and has neither in
// it: innermost pairs first.
std::string WithoutRemarks(std::string_view text, char open, char close) {
  std::string kept;
  size_t begin = std::string::npos;  // in `kept`: of the last `open`
  for (const char c : text) {
    kept += c;
    if (c == close && begin != std::string::npos && kept.size() - begin <= kLongestRemark + 2) {
      kept.resize(begin);
      begin = std::string::npos;
    } else if (c == open) {
      begin = kept.size() - 1;
    }
  }
  return kept;
}

std::string WithoutLinks(std::string text) {
  std::erase_if(text, [](char c) { return c == '{' || c == '}'; });
  return text;
}

std::string Joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + ' ';
  return text;
}

std::string Prose(const Lines& paragraph) {
  std::string text = WithoutRemarks(Joined(paragraph), '\\', '\\');
  // Remarks may have remarks in them.
  text = WithoutRemarks(WithoutRemarks(text, '[', ']'), '[', ']');
  text = Folded(WithoutLinks(text));
  std::string prose;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool before_mark = text[i] == ' ' && i + 1 < text.size() &&
                             std::string_view(",.;:)").find(text[i + 1]) != std::string_view::npos;
    if (!before_mark) prose += text[i];
  }
  return prose;
}

bool IsSource(std::string_view line) {
  const std::string text = Folded(line);
  return text.starts_with('[') && text.ends_with(']') && text.find("Webster") != std::string::npos;
}

// A block of its own, further in than the definitions, that ends in the author.
bool IsQuoteBlock(const Lines& block) {
  if (block.empty() || !Folded(block.back()).ends_with(kShakespeare)) return false;
  return std::all_of(block.begin(), block.end(),
                     [](const std::string& line) { return Indent(line) >= kQuoteIndent; }) &&
         block.front()[Indent(block.front())] != '(';  // a sub-definition
}

// "..." --Shak., also with a period or a remark between.
std::vector<std::string> QuotesWithin(const std::string& text) {
  std::vector<std::string> quotes;
  for (size_t author = text.find(kShakespeare); author != std::string::npos;
       author = text.find(kShakespeare, author + 1)) {
    std::string_view before = std::string_view(text).substr(0, author);
    while (!before.empty() && (before.back() == ' ' || before.back() == '.'))
      before.remove_suffix(1);
    if (!before.ends_with('"')) continue;
    before.remove_suffix(1);
    const size_t open = before.rfind('"');
    if (open != std::string_view::npos) quotes.emplace_back(before.substr(open + 1));
  }
  return quotes;
}

std::string Letters(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

}  // namespace

std::vector<std::vector<Lines>> GcideEntries(std::string_view dictionary) {
  std::vector<std::vector<Lines>> entries;
  bool begun = false, at_margin = false;
  while (!dictionary.empty()) {
    const size_t end = std::min(dictionary.find('\n'), dictionary.size());
    const std::string line = ValidUtf8(dictionary.substr(0, end));
    dictionary.remove_prefix(std::min(end + 1, dictionary.size()));
    // The first headword with a pronunciation ends the description in front.
    const size_t pronounced = line.find(" \\");
    begun |= AtMargin(line) && pronounced != std::string::npos &&
             line.find('\\', pronounced + 2) != std::string::npos;
    if (!begun) continue;
    const bool margin = AtMargin(line);
    if (margin && !at_margin) entries.emplace_back(1);
    at_margin = margin;
    std::vector<Lines>& entry = entries.back();
    if (Indent(line) < line.size()) {
      entry.back().push_back(line);
    } else if (!entry.back().empty()) {
      entry.emplace_back();
    }
  }
  return entries;
}

CorpusText SplitByContent(std::vector<std::string> documents, double holdout) {
  std::vector<uint64_t> hashes;
  for (const std::string& document : documents) hashes.push_back(HashPrefix(Sha256Hex(document)));
  const std::vector<bool> held_out = HeldOut(hashes, holdout);
  CorpusText text;
  for (size_t i = 0; i < documents.size(); ++i) {
    (held_out[i] ? text.validation : text.train).push_back(std::move(documents[i]));
  }
  return text;
}

Result<CorpusText> GcideText(std::string_view dictionary) {
  std::vector<std::string> documents;
  for (const auto& entry : GcideEntries(dictionary)) {
    std::string document;
    for (const Lines& paragraph : entry) {
      const std::string prose = Prose(paragraph);
      if (!prose.empty()) document += prose + '\n';
    }
    if (!document.empty()) documents.push_back(std::move(document));
  }
  if (documents.empty()) return DataLoss("this is not the dictionary GCIDE: it has no entry");
  return SplitByContent(std::move(documents), kHoldout);
}

Result<CorpusText> ShakespeareQuotes(std::string_view dictionary) {
  std::vector<std::string> documents;
  std::unordered_set<std::string> seen;  // by letters: spelling of points and dashes varies
  const auto add = [&](std::string_view text) {
    const std::string quote = Folded(WithoutLinks(WithoutRemarks(text, '[', ']')));
    const std::string letters = Letters(quote);
    if (letters.size() < kFewestLetters || !seen.insert(letters).second) return;
    documents.push_back(quote + '\n');
  };
  for (const auto& entry : GcideEntries(dictionary)) {
    for (Lines paragraph : entry) {
      std::erase_if(paragraph, IsSource);
      if (IsQuoteBlock(paragraph)) {
        const std::string block = Folded(Joined(paragraph));
        add(std::string_view(block).substr(0, block.size() - kShakespeare.size()));
        continue;
      }
      const std::string text = Folded(WithoutRemarks(Joined(paragraph), '[', ']'));
      for (const std::string& quote : QuotesWithin(text)) add(quote);
    }
  }
  if (documents.empty()) {
    return DataLoss("this is not the dictionary GCIDE: it has no quotation of Shakespeare");
  }
  return SplitByContent(std::move(documents), kHoldout);
}

}  // namespace gyre
