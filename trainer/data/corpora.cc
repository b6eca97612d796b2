#include "trainer/data/corpora.h"

#include <algorithm>

#include "base/files.h"
#include "base/scratch_folder.h"
#include "trainer/config/job_config.h"
#include "trainer/data/austen.h"
#include "trainer/data/byte_stream.h"
#include "trainer/data/gcide.h"
#include "trainer/data/package.h"
#include "trainer/data/wordnet.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxCorpusBytes = size_t{1} << 30;

bool IsCorpusName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && name[0] != '-' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
}

Result<std::string> ReadUnpacked(const fs::path& path) {
  GYRE_ASSIGN_OR_RETURN(const auto stream, OpenByteStream(path));
  std::string content;
  for (std::vector<char> piece(1 << 18);;) {
    GYRE_ASSIGN_OR_RETURN(const size_t got, stream->Read(piece.data(), piece.size()));
    if (got == 0) return content;
    content.append(piece.data(), got);
    if (content.size() > kMaxCorpusBytes) return DataLoss("too large to be what it should be");
  }
}

Result<NamedCorpus> ReadNamed(const fs::path& file) {
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, 1 << 24));
  const Json json = Json::parse(text, nullptr, false);
  NamedCorpus corpus;
  corpus.name = file.stem().string();
  try {
    json.at("paths").get_to(corpus.paths);
    json.at("license").get_to(corpus.license);
    corpus.format = {json.value("field", ""), json.value("template", "")};
  } catch (const Json::exception&) {
    corpus.paths.clear();
  }
  if (!corpus.paths.empty()) return corpus;
  return DataLoss(file.string() +
                  " is damaged; remove it and name the text again with `gyre data add`");
}

}  // namespace

const std::vector<BuiltInCorpus>& BuiltInCorpora() {
  static const std::vector<BuiltInCorpus> corpora = {
      {"austen",
       "Jane Austen's six novels; trains on five, holds out Persuasion",
       "text: public domain; package r-cran-janeaustenr: MIT",
       "r-cran-janeaustenr",
       {"usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"},
       [](const std::vector<std::string>& contents) { return AustenText(contents[0]); }},
      {"gcide",
       "The dictionary GCIDE (Webster's of 1913 and additions) as prose, an entry a document",
       "GPL-2+; most of the text: public domain",
       "dict-gcide",
       {"usr/share/dictd/gcide.dict.dz"},
       [](const std::vector<std::string>& contents) { return GcideText(contents[0]); }},
      {"wordnet-qa",
       "Questions and answers made of WordNet 3.0; held out by meaning",
       "WordNet 3.0 license (any use, with its notice)",
       "wordnet-base",
       {"usr/share/wordnet/data.noun", "usr/share/wordnet/data.verb", "usr/share/wordnet/data.adj",
        "usr/share/wordnet/data.adv"},
       WordnetQuestions},
      {"shakespeare-quotes",
       "Quotations of Shakespeare in the dictionary GCIDE",
       "quotations: public domain; their compilation: GPL-2+",
       "dict-gcide",
       {"usr/share/dictd/gcide.dict.dz"},
       [](const std::vector<std::string>& contents) { return ShakespeareQuotes(contents[0]); }},
  };
  return corpora;
}

const BuiltInCorpus* FindBuiltInCorpus(const std::string& name) {
  for (const BuiltInCorpus& corpus : BuiltInCorpora()) {
    if (corpus.name == name) return &corpus;
  }
  return nullptr;
}

Result<CorpusText> ReadBuiltInCorpus(const BuiltInCorpus& corpus, const fs::path& home,
                                     const fs::path& package, const ProgressFn& progress) {
  GYRE_ASSIGN_OR_RETURN(const ScratchFolder folder, ScratchFolder::Create(home, "corpus"));
  fs::path deb = package;
  if (deb.empty()) {
    if (progress) progress("fetching Debian's package " + corpus.package);
    auto fetched = FetchPackage(corpus.package, folder.path());
    if (!fetched.ok()) {
      return Status(fetched.status().code(),
                    fetched.status().message() +
                        "\nRun `apt-get update` first, or take the package from " +
                        "elsewhere: gyre data prepare corpus:" + corpus.name + " --from FILE.deb");
    }
    deb = *std::move(fetched);
  }
  if (progress) progress("unpacking " + deb.filename().string());
  GYRE_RETURN_IF_ERROR(UnpackPackage(deb, folder.path() / "package"));
  std::vector<std::string> contents;
  for (const std::string& file : corpus.files) {
    auto content = ReadUnpacked(folder.path() / "package" / file);
    if (!content.ok() && content.status().code() == StatusCode::kNotFound) {
      return InvalidArgument(deb.string() + " has no file " + file + "; Debian's package " +
                             corpus.package + " is wanted");
    }
    if (!content.ok()) return content.status().WithContext(deb.string() + ", " + file);
    contents.push_back(*std::move(content));
  }
  auto text = corpus.read(contents);
  if (!text.ok()) return text.status().WithContext(deb.string());
  return text;
}

Status AddNamedCorpus(const fs::path& home, const NamedCorpus& corpus, bool replace) {
  if (!IsCorpusName(corpus.name)) {
    return InvalidArgument(
        "'" + corpus.name +
        "' cannot name a corpus: up to 64 of a-z, 0-9 and '-', not beginning with '-'");
  }
  if (FindBuiltInCorpus(corpus.name) != nullptr) {
    return AlreadyExists("corpus:" + corpus.name + " is one of Gyre's own; choose another name");
  }
  const auto old = FindNamedCorpus(home, corpus.name);
  const bool other = old.ok() && (old->paths != corpus.paths || old->format != corpus.format);
  if (other && !replace) {
    return AlreadyExists("corpus:" + corpus.name + " already names other files (" + old->paths[0] +
                         (old->paths.size() > 1 ? ", ..." : "") +
                         "); --replace names these instead");
  }
  GYRE_RETURN_IF_ERROR(MakeFolders(home / "corpora"));
  Json json = {{"paths", corpus.paths}, {"license", corpus.license}};
  if (!corpus.format.field.empty()) json["field"] = corpus.format.field;
  if (!corpus.format.text_template.empty()) json["template"] = corpus.format.text_template;
  return WriteFileAtomically(home / "corpora" / (corpus.name + ".json"),
                             json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Result<NamedCorpus> FindNamedCorpus(const fs::path& home, const std::string& name) {
  if (IsCorpusName(name)) {
    auto corpus = ReadNamed(home / "corpora" / (name + ".json"));
    if (corpus.ok() || corpus.status().code() != StatusCode::kNotFound) return corpus;
  }
  std::string known;
  for (const BuiltInCorpus& corpus : BuiltInCorpora()) known += " corpus:" + corpus.name;
  if (const auto named = ListNamedCorpora(home); named.ok()) {
    for (const NamedCorpus& corpus : *named) known += " corpus:" + corpus.name;
  }
  return NotFound("no corpus '" + name + "'; there are:" + known +
                  " (`gyre data add NAME PATH` names files of your own)");
}

Result<std::vector<NamedCorpus>> ListNamedCorpora(const fs::path& home) {
  std::vector<NamedCorpus> corpora;
  std::error_code error;
  for (fs::directory_iterator entry(home / "corpora", error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() != ".json") continue;
    GYRE_ASSIGN_OR_RETURN(NamedCorpus corpus, ReadNamed(entry->path()));
    corpora.push_back(std::move(corpus));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return ErrnoStatus(error.value(), "cannot list " + (home / "corpora").string());
  }
  std::sort(corpora.begin(), corpora.end(),
            [](const NamedCorpus& a, const NamedCorpus& b) { return a.name < b.name; });
  return corpora;
}

}  // namespace gyre
