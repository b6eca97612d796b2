#include "sweeps/spec/source_files.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "sweeps/spec/value_reader.h"

namespace gyre {
namespace {

constexpr size_t kLongestChain = 9;  // the named file and eight more

// How messages name a file beside another: as its path from the same starting point.
std::string NameBeside(const std::string& file, const std::string& path) {
  return (std::filesystem::path(file).parent_path() / path).lexically_normal().string();
}

}  // namespace

SourceFiles::SourceFiles(const SpecOptions& options, Faults* faults)
    : options_(options),
      faults_(faults),
      path_((std::filesystem::path(options.folder) / std::filesystem::path(options.file).filename())
                .lexically_normal()
                .string()),
      folders_{options.folder} {}

const SourceFiles::ExtendedFile* SourceFiles::Read(const std::string& path, const TextPlace& place,
                                                   const std::string& written) {
  const auto [found, is_new] = files_.try_emplace(path);
  ExtendedFile& file = found->second;
  if (!is_new) return &file;
  Result<std::string> text = options_.read_file
                                 ? options_.read_file(path)
                                 : Result<std::string>(NotFound("other files cannot be read here"));
  if (text.ok() && (bytes_ += text->size()) > kMaxSweepFileBytes) {
    text = InvalidArgument("the files have more than " + WithSeparators(kMaxSweepFileBytes) +
                           " bytes together");
  }
  if (!text.ok()) {
    faults_->Add(place, "extends: " + Quoted(written) + ": " + text.status().message());
    return &file;
  }
  file.source = SourceText(*text);
  file.number = faults_->AddFile(NameBeside(faults_->FileName(place.file), written), &file.source);
  folders_.push_back(std::filesystem::path(path).parent_path().string());
  texts_[path] = *std::move(text);
  const int64_t before = faults_->count();
  if (auto fault = FindEncodingFault(file.source)) {
    fault->place.file = file.number;
    faults_->Add(fault->place, fault->message, fault->help);
    return &file;
  }
  file.tree = std::make_unique<YamlTree>(file.source, faults_, file.number);
  const size_t documents = file.tree->documents().size();
  file.good = faults_->count() == before && documents == 1;
  if (faults_->count() > before || documents == 1) return &file;
  faults_->Add({.file = file.number},
               documents == 0 ? "the file is empty: there is nothing to extend"
                              : "a file that others extend has one sweep, and this has " +
                                    std::to_string(documents));
  return &file;
}

std::vector<YamlRef> SourceFiles::ChainOf(const YamlRef& document) {
  std::vector<YamlRef> chain{document};
  std::vector<std::string> paths{path_};
  while (true) {
    const YamlEntry* entry = chain.back().node->Find("extends");
    if (entry == nullptr || entry->value.node->IsNull()) return chain;
    const auto written = ReadText("extends", entry->value, faults_);
    if (!written) return chain;
    const TextPlace& place = entry->value.place;
    const std::string path =
        (std::filesystem::path(folders_[place.file]) / *written).lexically_normal().string();
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) {
      faults_->Add(place, path == paths.back()
                              ? "extends: the file extends itself"
                              : "extends: " + Quoted(*written) +
                                    " extends this file already, over one or more others");
      return chain;
    }
    if (chain.size() >= kLongestChain) {
      faults_->Add(place, "extends: more than " + std::to_string(kLongestChain - 1) +
                              " files, each merged over the next");
      return chain;
    }
    const ExtendedFile* file = Read(path, place, *written);
    if (!file->good) return chain;
    chain.push_back(file->tree->documents().front());
    paths.push_back(path);
  }
}

}  // namespace gyre
