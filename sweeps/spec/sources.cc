#include "sweeps/spec/sources.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/sweep_spec.h"
#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

constexpr std::string_view kCorpus = "corpus:";

struct Corpus {
  const char* name;
  bool supported;
};
constexpr Corpus kCorpora[] = {
    {"austen", true}, {"gcide", false}, {"wordnet-qa", false}, {"shakespeare-quotes", false}};

std::vector<std::string> CorpusNames(const std::vector<std::string>& users) {
  std::vector<std::string> names;
  for (const Corpus& corpus : kCorpora) names.emplace_back(corpus.name);
  names.insert(names.end(), users.begin(), users.end());
  return names;
}

bool CheckCorpus(const std::string& path, const std::string& text, const TextPlace& place,
                 const std::vector<std::string>& users, Faults* faults) {
  const std::string named = text.substr(kCorpus.size());
  const std::string name = named.substr(0, named.find('/'));
  const auto corpus = std::find_if(std::begin(kCorpora), std::end(kCorpora),
                                   [&](const Corpus& known) { return name == known.name; });
  const std::vector<std::string> names = CorpusNames(users);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    const std::string nearest = Nearest(name, names);
    faults->Add(place, path + ": there is no corpus " + Quoted(name) + "; known are " + List(names),
                nearest.empty() ? "" : "did you mean '" + std::string(kCorpus) + nearest + "'?");
    return false;
  }
  const std::string part = named.size() > name.size() ? named.substr(name.size() + 1) : "train";
  if (part != "train" && part != "validation") {
    faults->Add(place, path + ": corpus " + name + " has the parts train and validation, and not " +
                           Quoted(part));
    return false;
  }
  if (corpus != std::end(kCorpora) && !corpus->supported) {
    faults->Add(place, path + ": corpus:" + name + " is not yet supported", "corpus:austen is");
    return false;
  }
  return true;
}

bool CheckOne(const std::string& path, const YamlRef& ref, const std::vector<std::string>& users,
              Faults* faults) {
  if (ref.node->IsMapping()) {
    faults->Add(ref.place, path + ": several sources with weights are not yet supported",
                "give a list of sources");
    return false;
  }
  if (!ref.node->IsScalar()) {
    faults->Add(ref.place,
                path + " must be corpus:NAME, a path or a glob, and is " + DescribeNode(*ref.node));
    return false;
  }
  const auto text = ReadText(path, ref, faults);
  if (!text) return false;
  if (text->find_first_not_of(" \t\n") == std::string::npos) {
    faults->Add(ref.place, path + " is empty text", "name a corpus, a file, a folder or a glob");
    return false;
  }
  if (std::any_of(text->begin(), text->end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
    faults->Add(ref.place, path + " has a control character: " + Quoted(*text));
    return false;
  }
  if (text->starts_with(kCorpus)) return CheckCorpus(path, *text, ref.place, users, faults);
  const std::vector<std::string> names = CorpusNames(users);
  if (std::find(names.begin(), names.end(), *text) != names.end()) {
    faults->Add(ref.place, path + ": " + Quoted(*text) + " could be a file or a corpus",
                "write 'corpus:" + *text + "', or './" + *text + "' for the file");
    return false;
  }
  return true;
}

}  // namespace

std::optional<Json> ReadSource(const std::string& path, const YamlRef& ref,
                               const std::vector<std::string>& corpora, Faults* faults) {
  if (!ref.node->IsSequence()) {
    if (!CheckOne(path, ref, corpora, faults)) return std::nullopt;
    return Json(ref.node->text);
  }
  if (ref.node->items.empty()) {
    faults->Add(ref.place, path + " is an empty list", "name a corpus, a file, a folder or a glob");
    return std::nullopt;
  }
  Json list = Json::array();
  std::set<std::string> seen;
  for (const YamlRef& item : ref.node->items) {
    if (!CheckOne(path, item, corpora, faults)) continue;
    if (!seen.insert(item.node->text).second) {
      faults->Add(item.place, path + " has " + Quoted(item.node->text) + " twice");
      continue;
    }
    list.push_back(item.node->text);
  }
  if (list.size() != ref.node->items.size()) return std::nullopt;
  return list;
}

std::optional<Json> ReadSources(const std::string& path, const YamlRef& ref,
                                const std::vector<std::string>& corpora, Faults* faults) {
  if (!ref.node->IsMapping()) {
    faults->Add(
        ref.place,
        path + " must be a mapping from names to sources, and is " + DescribeNode(*ref.node),
        "for example {austen: corpus:austen/validation}");
    return std::nullopt;
  }
  Json sources = Json::object();
  bool good = true;
  for (const YamlEntry& entry : ref.node->entries) {
    good &= CheckName(path + ": the name", entry.key, entry.quoted, entry.place, faults);
    // Metrics are called NAME/quantity[@context], and those of the batches train/....
    const bool taken = entry.key == "train";
    if (taken || entry.key.find_first_of("/@ \t") != std::string::npos) {
      faults->Add(entry.place, path + ": the name " + Quoted(entry.key) +
                                   (taken ? " is that of the batches themselves"
                                          : " must have no '/', '@' or space: metrics are called "
                                            "NAME/loss"));
      good = false;
    }
    if (entry.value.node->IsNull()) {
      sources[entry.key] = nullptr;
      continue;
    }
    auto source = ReadSource(path + "." + entry.key, entry.value, corpora, faults);
    good &= source.has_value();
    if (source) sources[entry.key] = std::move(*source);
  }
  if (!good) return std::nullopt;
  return sources;
}

std::optional<Json> ReadTokenizer(const std::string& path, const YamlRef& ref, Faults* faults) {
  const bool scalar = ref.node->IsScalar();
  if (scalar && ref.node->text == "bytes") return Json("bytes");
  if (ref.node->IsMapping() || (scalar && ref.node->text.ends_with(".model"))) {
    faults->Add(ref.place, path + ": tokenizers other than bytes are not yet supported");
    return std::nullopt;
  }
  faults->Add(ref.place,
              path +
                  " must be bytes, a SentencePiece .model or {train: bpe, vocab_size: n}, and is " +
                  DescribeNode(*ref.node),
              scalar ? DidYouMean(ref.node->text, {"bytes"}) : "");
  return std::nullopt;
}

std::vector<std::string> CorporaIn(const std::string& request_key) {
  const Json key = Json::parse(request_key, nullptr, false);
  if (!key.is_object() || !key.contains("source")) return {};
  std::vector<std::string> names;
  const Json source = key["source"].is_array() ? key["source"] : Json::array({key["source"]});
  for (const Json& item : source) {
    const std::string text = item.is_string() ? item.get<std::string>() : "";
    if (!text.starts_with(kCorpus)) continue;
    names.push_back(text.substr(kCorpus.size(), text.find('/') - kCorpus.size()));
  }
  return names;
}

Json AbsoluteSource(const Json& source, const std::string& folder) {
  if (source.is_array()) {
    Json list = Json::array();
    for (const Json& item : source) list.push_back(AbsoluteSource(item, folder));
    return list;
  }
  const std::string text = source.get<std::string>();
  if (text.starts_with(kCorpus)) return source;
  return (std::filesystem::path(folder) / text).lexically_normal().string();
}

}  // namespace gyre
