#include "trainer/data/requested_text.h"

#include <algorithm>

#include "trainer/data/dataset.h"

namespace gyre {
namespace {

constexpr char kRecipes[] = "recipes 1";  // raise when a built-in corpus would be cut otherwise
constexpr char kTaskRules[] = "tasks 1";  // raise when a task would be written otherwise

Result<SourcePath> PathOf(const Json& item) {
  SourcePath source;
  for (const auto& [key, value] : item.items()) {
    if (!value.is_string())
      return InvalidArgument(key + " of a source must be text, in " + JsonText(item));
    const std::string text = value.get<std::string>();
    if (key == "path") {
      source.path = text;
    } else if (key == "field") {
      source.format.field = text;
    } else if (key == "template") {
      source.format.text_template = text;
    } else {
      return InvalidArgument("a source has path, field and template, and not " + key);
    }
  }
  if (source.path.empty()) return InvalidArgument("the source " + JsonText(item) + " has no path");
  return source;
}

class Resolving {
 public:
  explicit Resolving(const std::filesystem::path& home) : home_(home) {}

  Status Add(const Json& item) {
    if (IsTaskSource(item)) {
      GYRE_ASSIGN_OR_RETURN(const TaskText task, TaskTextFromJson(item));
      if (task.length == 0) {
        return InvalidArgument("the task " + task.task.name +
                               " needs the length of its documents, e.g. {task: " + task.task.name +
                               ", length: 512}");
      }
      text_.tasks.push_back(task);
      AddLicense("made up by Gyre");
      return OkStatus();
    }
    if (item.is_object()) {
      GYRE_ASSIGN_OR_RETURN(SourcePath path, PathOf(item));
      paths_.push_back(std::move(path));
      AddLicense("not stated (a user's own files)");
      return OkStatus();
    }
    if (!item.is_string()) {
      return InvalidArgument(
          "a text is a string, {path, field or template}, or a list of these, not " +
          JsonText(item));
    }
    const std::string text = item.get<std::string>();
    if (text.starts_with("corpus:")) return AddCorpus(text.substr(7));
    paths_.push_back({text});
    AddLicense("not stated (a user's own files)");
    return OkStatus();
  }

  Result<RequestedText> Finish(const TokenizerRequest& tokenizer) {
    text_.tokenizer = tokenizer;
    const bool ids = tokenizer.kind == TokenizerKind::kIds;
    if (!paths_.empty()) {
      GYRE_ASSIGN_OR_RETURN(text_.files, ListSourceFiles(paths_));
      text_.stamp = SourceStamp(text_.files);
    }
    if (ids && !text_.corpora.empty()) {
      return InvalidArgument("the tokenizer {ids: n} is for .bin files, and " +
                             text_.corpora[0]->name + " is text");
    }
    for (SourceFile& file : text_.files) {
      if (ids != (file.kind == SourceKind::kTokens)) {
        return InvalidArgument(
            file.path.string() +
            (ids ? " is text, and the tokenizer {ids: n} is for .bin files"
                 : " is token ids: say how many there are with tokenizer: {ids: n}, for GPT-2's "
                   "{ids: 50257, document_start: 50256}"));
      }
      file.ids = tokenizer.vocab_size;
      file.document_start = tokenizer.document_start;
    }
    if (!text_.corpora.empty()) {
      text_.stamp += std::string(text_.stamp.empty() ? "" : ", ") + kRecipes;
    }
    if (!text_.tasks.empty()) {
      text_.stamp += std::string(text_.stamp.empty() ? "" : ", ") + kTaskRules;
    }
    return std::move(text_);
  }

 private:
  Status AddCorpus(const std::string& name) {
    if (const BuiltInCorpus* corpus = FindBuiltInCorpus(name); corpus != nullptr) {
      text_.corpora.push_back(corpus);
      AddLicense(corpus->license);
      return OkStatus();
    }
    GYRE_ASSIGN_OR_RETURN(const NamedCorpus named, FindNamedCorpus(home_, name));
    for (const std::string& path : named.paths) paths_.push_back({path, named.format});
    AddLicense(named.license);
    return OkStatus();
  }

  void AddLicense(const std::string& license) {
    if (text_.license.find(license) != std::string::npos) return;
    text_.license += (text_.license.empty() ? "" : "; ") + license;
  }

  const std::filesystem::path& home_;
  RequestedText text_;
  std::vector<SourcePath> paths_;
};

}  // namespace

std::string JsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<RequestedText> ResolveText(const std::filesystem::path& home, const Json& source,
                                  const TokenizerRequest& tokenizer) {
  Resolving resolving(home);
  const Json list = source.is_array() ? source : Json::array({source});
  if (list.empty()) return InvalidArgument("an empty list where a text is wanted");
  for (const Json& item : list) GYRE_RETURN_IF_ERROR(resolving.Add(item));
  GYRE_ASSIGN_OR_RETURN(RequestedText text, resolving.Finish(tokenizer));
  text.canonical = WithPaths(
      list, [](const std::string& path) { return path.empty() ? path : AbsolutePath(path); });
  text.name = source.is_string() ? source.get<std::string>()
              : source.is_object() && source.contains("path") && source["path"].is_string()
                  ? source["path"].get<std::string>()
              : IsTaskSource(source) && !text.tasks.empty()
                  ? kTaskPrefix + text.tasks.front().task.name
                  : JsonText(source);
  if (text.name.starts_with("corpus:")) text.name.erase(0, 7);
  while (text.name.size() > 1 && text.name.ends_with('/')) text.name.pop_back();
  return text;
}

}  // namespace gyre
