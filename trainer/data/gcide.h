#pragma once

// The Collaborative International Dictionary of English (Webster's of 1913 and additions) as
// Debian's dict-gcide has it: entries begin at the left margin, their paragraphs are indented and
// wrapped, with pronunciations \...\, remarks and sources [...], {links}, and quotations that end
// in --Author.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trainer/data/corpus_text.h"

namespace gyre {

/// corpus:gcide: a document is an entry as prose, a paragraph a line, without pronunciations,
/// remarks, sources and signs of links. 5% of the entries are held out, by the hash of their text.
/// DATA_LOSS: no dictionary.
Result<CorpusText> GcideText(std::string_view dictionary);

/// corpus:shakespeare-quotes: a document is one of the quotations that end in --Shak., a line, each
/// once. 5% of them are held out, by the hash of their text. DATA_LOSS: no dictionary.
Result<CorpusText> ShakespeareQuotes(std::string_view dictionary);

/// The entries, each as its paragraphs, each as its lines, in valid UTF-8 (a line that is none is
/// taken for ISO 8859-1); the description in front of the dictionary is left out.
std::vector<std::vector<std::vector<std::string>>> GcideEntries(std::string_view dictionary);

/// Documents into a corpus, `holdout` of them held out by the hash of their text.
CorpusText SplitByContent(std::vector<std::string> documents, double holdout);

}  // namespace gyre
