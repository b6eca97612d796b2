#include "sweeps/spec/sweep_spec.h"

#include <set>

#include "sweeps/spec/expand.h"
#include "sweeps/spec/faults.h"
#include "sweeps/spec/source_files.h"
#include "sweeps/spec/source_text.h"
#include "sweeps/spec/sweep_reader.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {
namespace {

std::vector<SweepSpec> ReadDocuments(const YamlTree& tree, const SpecOptions& options,
                                     SourceFiles* files, Faults* faults) {
  std::vector<SweepSpec> sweeps;
  std::set<std::string> names;
  int64_t jobs = 0;
  for (const YamlRef& document : tree.documents()) {
    SettingStore store;
    Notes notes;
    const int64_t before = faults->count();
    const std::vector<YamlRef> chain = files->ChainOf(document);
    const bool whole = faults->count() == before;
    const ReadContext context{&store, &notes, faults, &options.corpora, &files->folders()};
    SweepDraft draft = ReadSweep(chain, context);
    if (!draft.spec.name.empty() && !names.insert(draft.spec.name).second) {
      faults->Add(draft.place,
                  "the sweep " + Quoted(draft.spec.name) + " stands twice in the file");
    }
    if (!whole) continue;  // what is missing would be reported where it is not to blame
    const int64_t own = CountJobs(draft);
    if (own <= options.max_jobs && jobs + own > options.max_jobs) {
      faults->Add(draft.place, "the file expands to more than the " +
                                   WithSeparators(options.max_jobs) +
                                   " jobs that --max-jobs allows");
      continue;
    }
    if (own <= options.max_jobs) jobs += own;
    sweeps.push_back(Expand(std::move(draft), options, context));
    sweeps.back().notes = notes.all();
  }
  return sweeps;
}

}  // namespace

ParsedSweeps ParseSweeps(const std::string& yaml, const SpecOptions& options) {
  ParsedSweeps parsed;
  const bool too_large = yaml.size() > kMaxSweepFileBytes;
  const SourceText source(too_large ? "" : yaml);
  Faults faults(options.file, &source);
  if (too_large) {
    faults.Add({},
               "the file has " + WithSeparators(yaml.size()) + " bytes, and a sweep at most " +
                   WithSeparators(kMaxSweepFileBytes),
               "a grid says much in few lines");
  } else if (const auto fault = FindEncodingFault(source)) {
    faults.Add(fault->place, fault->message, fault->help);
  } else {
    const YamlTree tree(source, &faults);
    if (tree.documents().empty() && faults.count() == 0) {
      faults.Add({}, "the file is empty: it has no sweep",
                 "the smallest is sweep: NAME with base: {data: {train: …}}");
    }
    SourceFiles files(options, &faults);
    parsed.sweeps = ReadDocuments(tree, options, &files, &faults);
    parsed.extended = files.TakeTexts();
  }
  parsed.diagnostics = faults.Take();
  if (!parsed.diagnostics.empty()) parsed.sweeps.clear();
  return parsed;
}

}  // namespace gyre
