#include "trainer/data/wordnet.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <unordered_map>

#include "base/random.h"

namespace gyre {
namespace {

// "take_a_breath", "able(p)"
std::string Word(std::string text) {
  if (text.ends_with(')')) text.resize(std::min(text.find('('), text.size()));
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string Trimmed(const std::string& text, const char* of) {
  const size_t begin = text.find_first_not_of(of);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(of) - begin + 1);
}

// definition; "example"; "example"
void ReadGloss(const std::string& gloss, Synset* synset) {
  const size_t quote = gloss.find('"');
  synset->definition = Trimmed(gloss.substr(0, quote), " ;");
  for (size_t open = quote; open != std::string::npos;) {
    const size_t close = gloss.find('"', open + 1);
    if (close == std::string::npos) break;
    const std::string example = Trimmed(gloss.substr(open + 1, close - open - 1), " ");
    if (!example.empty()) synset->examples.push_back(example);
    open = gloss.find('"', close + 1);
  }
}

// offset lexfile kind words(hex) {word lex_id} pointers(dec) {symbol offset kind source/target}
// [frames] | gloss
bool ReadSynset(const std::string& line, Synset* synset) {
  std::istringstream in(line.substr(0, line.find(" | ")));
  std::string offset, file, kind, count, word, number;
  if (!(in >> offset >> file >> kind >> count) || kind.size() != 1) return false;
  synset->kind = kind == "s" ? 'a' : kind[0];
  synset->id = synset->kind + offset;
  for (long left = std::strtol(count.c_str(), nullptr, 16); left > 0; --left) {
    if (!(in >> word >> number)) return false;
    synset->words.push_back(Word(word));
  }
  if (!(in >> count)) return false;
  for (long left = std::strtol(count.c_str(), nullptr, 10); left > 0; --left) {
    std::string symbol, target, target_kind, where;
    if (!(in >> symbol >> target >> target_kind >> where)) return false;
    const bool more_general = symbol == "@" || symbol == "@i";
    if (more_general && synset->hypernym.empty()) synset->hypernym = target_kind + target;
  }
  const size_t gloss = line.find(" | ");
  if (gloss == std::string::npos || synset->words.empty()) return false;
  ReadGloss(line.substr(gloss + 3), synset);
  return true;
}

std::string Filled(std::string_view text, const std::string& word, const std::string& kind) {
  std::string filled;
  for (const char c : text) {
    if (c == '$') {
      filled += word;
    } else if (c == '#') {
      filled += kind;
    } else {
      filled += c;
    }
  }
  return filled;
}

std::string KindName(char kind) {
  return kind == 'n' ? "noun" : kind == 'v' ? "verb" : kind == 'a' ? "adjective" : "adverb";
}

// '$' is the word, the definition or the sentence, '#' the part of speech.
using Templates = std::array<std::string_view, 4>;
constexpr Templates kDefine = {"What does the # \"$\" mean?", "Define the word \"$\" (#).",
                               "What is the meaning of the # \"$\"?", "Explain \"$\" (#)."};
constexpr Templates kName = {"Which # means \"$\"?", "Give a word (#) for: $",
                             "What is the # with the meaning \"$\"?",
                             "Find the # that is defined as \"$\"."};
constexpr Templates kSynonyms = {"What is another word for \"$\" (#)?",
                                 "Give a synonym of the # \"$\".", "Say \"$\" (#) in other words.",
                                 "Which words mean the same as the # \"$\"?"};
constexpr Templates kMoreGeneral = {
    "What kind of thing is \"$\" (#)?", "Name something more general than the # \"$\".",
    "\"$\" (#) is a kind of what?", "Which more general # covers \"$\"?"};
constexpr Templates kSentence = {"Use the # \"$\" in a sentence.", "Give an example of \"$\" (#).",
                                 "Write a phrase with the # \"$\".",
                                 "How is the # \"$\" used? Give an example."};

class Questions {
 public:
  explicit Questions(const std::vector<Synset>& synsets) : choice_(0, "corpus/wordnet-qa") {
    for (const Synset& synset : synsets) first_words_[synset.id] = synset.words[0];
  }

  void Add(const Synset& synset, std::vector<std::string>* documents) {
    const std::string kind = KindName(synset.kind);
    const auto add = [&](const Templates& templates, const std::string& word,
                         const std::string& answer) {
      const std::string_view text = templates[choice_.Below(templates.size(), 0, asked_++)];
      documents->push_back("Question: " + Filled(text, word, kind) + "\nAnswer: " + answer + "\n");
    };
    if (!synset.definition.empty()) {
      for (const std::string& word : synset.words) add(kDefine, word, synset.definition);
      add(kName, synset.definition, synset.words[0]);
    }
    std::string others;
    for (size_t i = 1; i < synset.words.size(); ++i) {
      others += (others.empty() ? "" : ", ") + synset.words[i];
    }
    if (!others.empty()) add(kSynonyms, synset.words[0], others);
    const auto general = first_words_.find(synset.hypernym);
    if (general != first_words_.end()) add(kMoreGeneral, synset.words[0], general->second);
    for (const std::string& example : synset.examples) {
      // The word of the synset that the example has, if it is there as it stands.
      const auto used = std::find_if(
          synset.words.begin(), synset.words.end(),
          [&](const std::string& word) { return example.find(word) != std::string::npos; });
      add(kSentence, used != synset.words.end() ? *used : synset.words[0], example);
    }
  }

 private:
  Random choice_;
  uint64_t asked_ = 0;
  std::unordered_map<std::string, std::string> first_words_;
};

}  // namespace

Result<std::vector<Synset>> ReadSynsets(const std::string& content) {
  std::vector<Synset> synsets;
  std::istringstream lines(content);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("  ") || line.empty()) continue;  // the licence
    Synset synset;
    if (!ReadSynset(line, &synset)) {
      return DataLoss("line " + std::to_string(number) + " is not a synset of WordNet 3.0");
    }
    synsets.push_back(std::move(synset));
  }
  return synsets;
}

Result<CorpusText> WordnetQuestions(const std::vector<std::string>& contents) {
  std::vector<Synset> synsets;
  for (const std::string& content : contents) {
    GYRE_ASSIGN_OR_RETURN(std::vector<Synset> read, ReadSynsets(content));
    std::move(read.begin(), read.end(), std::back_inserter(synsets));
  }
  if (synsets.empty()) return DataLoss("these files of WordNet have no synset");
  const Random holdout(0, "corpus/wordnet-qa/validation");
  Questions questions(synsets);
  CorpusText text;
  for (const Synset& synset : synsets) {
    const uint64_t place = std::strtoull(synset.id.c_str() + 1, nullptr, 10);
    const bool held_out = holdout.Below(20, static_cast<unsigned char>(synset.kind), place) == 0;
    questions.Add(synset, held_out ? &text.validation : &text.train);
  }
  return text;
}

}  // namespace gyre
