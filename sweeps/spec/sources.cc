#include "sweeps/spec/sources.h"

#include <algorithm>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"
#include "sweeps/spec/sweep_spec.h"
#include "sweeps/spec/task_reader.h"
#include "sweeps/spec/value_reader.h"
#include "trainer/data/dataset.h"
#include "trainer/data/json_lines.h"
#include "trainer/data/task_text.h"

namespace gyre {
namespace {

constexpr std::string_view kCorpus = "corpus:";
constexpr double kMaxWeight = 1e9;  // so that sums and shares are numbers

constexpr const char* kCorpora[] = {"austen", "gcide", "wordnet-qa", "shakespeare-quotes"};

std::vector<std::string> CorpusNames(const std::vector<std::string>& users) {
  std::vector<std::string> names(std::begin(kCorpora), std::end(kCorpora));
  names.insert(names.end(), users.begin(), users.end());
  return names;
}

bool CheckCorpus(const std::string& path, const std::string& text, const TextPlace& place,
                 const std::vector<std::string>& users, Faults* faults) {
  const std::string named = text.substr(kCorpus.size());
  const std::string name = named.substr(0, named.find('/'));
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
  return true;
}

bool CheckText(const std::string& path, const YamlRef& ref, const std::vector<std::string>& users,
               Faults* faults) {
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
  if (text->starts_with(kTaskPrefix)) {
    return CheckTaskName(path, text->substr(std::string_view(kTaskPrefix).size()), ref.place,
                         faults);
  }
  const std::vector<std::string> names = CorpusNames(users);
  if (std::find(names.begin(), names.end(), *text) != names.end()) {
    faults->Add(ref.place, path + ": " + Quoted(*text) + " could be a file or a corpus",
                "write 'corpus:" + *text + "', or './" + *text + "' for the file");
    return false;
  }
  return true;
}

// {path, field or template}: JSON lines, and what of each object is the text.
std::optional<Json> ReadRecords(const std::string& path, const YamlRef& ref,
                                const std::vector<std::string>& users, Faults* faults) {
  Json source = Json::object();
  RecordFormat format;
  bool good = true;
  for (const YamlEntry& entry : ref.node->entries) {
    const std::string inner = path + "." + entry.key;
    if (entry.key == "path") {
      good &= CheckText(inner, entry.value, users, faults);
    } else if (entry.key == "field" || entry.key == "template") {
      const auto text = ReadText(inner, entry.value, faults);
      good &= text.has_value();
      (entry.key == "field" ? format.field : format.text_template) = text.value_or("");
    } else {
      faults->Add(entry.place,
                  path + ": a source has path, field and template, and not " + Quoted(entry.key));
      good = false;
    }
    source[entry.key] = entry.value.node->text;
  }
  if (good && !source.contains("path")) {
    faults->Add(ref.place, path + " has no path",
                "for example {path: questions.jsonl, template: \"{question} {answer}\"}");
    good = false;
  }
  if (const Status status = CheckRecordFormat(format); good && !status.ok()) {
    faults->Add(ref.place, path + ": " + status.message());
    good = false;
  }
  if (!good) return std::nullopt;
  return source;
}

std::optional<Json> ReadOne(const std::string& path, const YamlRef& ref,
                            const std::vector<std::string>& users, Faults* faults) {
  if (ref.node->IsMapping()) {
    const auto& entries = ref.node->entries;
    if (ref.node->Find("task") != nullptr) return ReadTaskSource(path, ref, faults);
    const bool weighted = std::any_of(entries.begin(), entries.end(), [](const YamlEntry& entry) {
      return entry.key == "source" || entry.key == "weight";
    });
    if (!weighted) return ReadRecords(path, ref, users, faults);
    faults->Add(ref.place,
                path +
                    ": a weight is for a list of several texts of data.train, and all "
                    "of them have one",
                "for example train: [{source: corpus:austen, weight: 0.7}, {source: more.txt, "
                "weight: 0.3}]");
    return std::nullopt;
  }
  if (!ref.node->IsScalar()) {
    faults->Add(ref.place,
                path + " must be corpus:NAME, a path or a glob, and is " + DescribeNode(*ref.node));
    return std::nullopt;
  }
  if (!CheckText(path, ref, users, faults)) return std::nullopt;
  return Json(ref.node->text);
}

// One text: a source or a list of them.
std::optional<Json> ReadSource(const std::string& path, const YamlRef& ref,
                               const std::vector<std::string>& corpora, Faults* faults) {
  if (!ref.node->IsSequence()) return ReadOne(path, ref, corpora, faults);
  if (ref.node->items.empty()) {
    faults->Add(ref.place, path + " is an empty list", "name a corpus, a file, a folder or a glob");
    return std::nullopt;
  }
  Json list = Json::array();
  for (const YamlRef& item : ref.node->items) {
    auto source = ReadOne(path, item, corpora, faults);
    if (!source) continue;
    if (std::find(list.begin(), list.end(), *source) != list.end()) {
      faults->Add(item.place, path + " has " +
                                  Quoted(source->is_string() ? item.node->text : source->dump()) +
                                  " twice");
      continue;
    }
    list.push_back(std::move(*source));
  }
  if (list.size() != ref.node->items.size()) return std::nullopt;
  return list;
}

std::optional<double> ReadWeight(const std::string& path, const YamlRef& ref, Faults* faults) {
  if (ref.node->IsScalar()) {
    const Reading<Number> number = ReadNumber(ref.node->text, "a number above 0");
    if (number.value && number.value->value > 0 && number.value->value <= kMaxWeight) {
      return number.value->value;
    }
  }
  faults->Add(ref.place, path + " must be a number above 0 and at most 1e9, and is " +
                             DescribeNode(*ref.node));
  return std::nullopt;
}

std::optional<Json> ReadWeighted(const std::string& path, const YamlRef& ref,
                                 const std::vector<std::string>& corpora, Faults* faults) {
  Json weighted = Json::object();
  bool good = true;
  for (const YamlEntry& entry : ref.node->entries) {
    if (entry.key == "source") {
      auto source = ReadSource(path + ".source", entry.value, corpora, faults);
      good &= source.has_value();
      if (source) weighted["source"] = std::move(*source);
    } else if (entry.key == "weight") {
      const auto weight = ReadWeight(path + ".weight", entry.value, faults);
      good &= weight.has_value();
      weighted["weight"] = weight.value_or(1);
    } else {
      faults->Add(entry.place,
                  path + ": an item has source and weight, and not " + Quoted(entry.key));
      good = false;
    }
  }
  for (const char* key : {"source", "weight"}) {
    if (!good || weighted.contains(key)) continue;
    faults->Add(ref.place, path + ": an item of the list has no " + key);
    good = false;
  }
  if (!good) return std::nullopt;
  return Json{{"source", weighted["source"]}, {"weight", weighted["weight"]}};
}

bool IsWeighted(const YamlRef& ref) {
  return ref.node->IsMapping() &&
         std::any_of(ref.node->entries.begin(), ref.node->entries.end(),
                     [](const YamlEntry& entry) { return entry.key == "source"; });
}

}  // namespace

std::optional<Json> ReadTrainSource(const std::string& path, const YamlRef& ref,
                                    const std::vector<std::string>& corpora, Faults* faults) {
  const bool mixture = ref.node->IsSequence() && !ref.node->items.empty() &&
                       std::all_of(ref.node->items.begin(), ref.node->items.end(), IsWeighted);
  if (!mixture) return ReadSource(path, ref, corpora, faults);
  Json list = Json::array();
  for (const YamlRef& item : ref.node->items) {
    auto weighted = ReadWeighted(path, item, corpora, faults);
    if (!weighted) continue;
    const bool twice = std::any_of(list.begin(), list.end(), [&weighted](const Json& other) {
      return other["source"] == (*weighted)["source"];
    });
    if (twice) {
      faults->Add(item.place, path + " has a text twice: " + (*weighted)["source"].dump(),
                  "give it the sum of the weights");
      continue;
    }
    list.push_back(std::move(*weighted));
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

std::vector<std::string> CorporaIn(const std::string& request_key) {
  const auto request = DatasetRequest::FromKey(request_key);
  if (!request.ok()) return {};
  std::vector<std::string> names;
  const Json& source = request->source;
  for (const Json& item : source.is_array() ? source : Json::array({source})) {
    const std::string text = item.is_string() ? item.get<std::string>() : "";
    if (!text.starts_with(kCorpus)) continue;
    names.push_back(text.substr(kCorpus.size(), text.find('/') - kCorpus.size()));
  }
  return names;
}

}  // namespace gyre
