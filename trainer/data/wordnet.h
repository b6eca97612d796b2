#pragma once

// Questions and answers made of WordNet 3.0 as Debian's wordnet-base has it (data.noun, data.verb,
// data.adj, data.adv), by templates, as instruction data are made.

#include <string>
#include <vector>

#include "base/status.h"
#include "trainer/data/corpus_text.h"

namespace gyre {

/// A set of words with one meaning.
struct Synset {
  std::string id;  // part of speech and place in the file, "n00001740"
  char kind = 'n';
  std::vector<std::string> words;
  std::string definition;
  std::vector<std::string> examples;
  std::string hypernym;  // id of the first more general one, or empty
};

/// The synsets of one data file. DATA_LOSS: a line is not one.
Result<std::vector<Synset>> ReadSynsets(const std::string& content);

/// corpus:wordnet-qa: a document is a question with its answer, of five kinds: what a word means, a
/// word for a meaning, other words, what it is a kind of, a sentence with it. One synset in twenty
/// is held out, with all its questions.
Result<CorpusText> WordnetQuestions(const std::vector<std::string>& contents);

}  // namespace gyre
