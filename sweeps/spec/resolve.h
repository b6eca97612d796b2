#pragma once

// From the merged settings of one point to the configuration of its jobs: defaults filled in,
// per-layer overrides spread out, and everything checked that no single value shows.

#include <string>
#include <vector>

#include "sweeps/spec/notes.h"
#include "sweeps/spec/settings.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

/// A fault of a merged point. It is reported where the value stands that brings it: a grid value
/// before a variant's before base's. `check` names what was checked, so that one place is reported
/// once and not for every point.
struct PointFault {
  TextPlace place;
  std::string check, message, help;
};

struct ResolvedPoint {
  JobConfig config;
  std::vector<LayerPosition> positions;              // empty where there are faults
  std::vector<std::vector<LayerPosition>> switched;  // the same after each switch
  std::string initial_weights;                       // the object's hash, where it is known
  std::vector<PointFault> faults;
};

class PointChecks;

class PointResolver {
 public:
  /// `options` outlive the resolver. `fallback` is where a fault is reported that no written value
  /// brings, e.g. a missing data.train.
  PointResolver(const SpecOptions& options, const TextPlace& fallback, Notes* notes);

  ResolvedPoint Resolve(const GridPoint& point);

 private:
  /// Sets data.tokenizer; its vocabulary, or of one that is not known the least there can be.
  int ResolveTokenizer(PointChecks* checks, DataConfig* data);
  // The weights that the point starts from; null where there are none, or none are known.
  const InitialWeights* FindWeights(PointChecks* checks, TrainConfig* train);

  const SpecOptions& options_;
  TextPlace fallback_;
  Notes* notes_;
  // Settings that a sweep's points share are worked out once: validation sets by what they follow
  // from.
  std::map<std::pair<const Setting*, const Setting*>, std::pair<Json, Json>> sources_;
  std::map<std::string, Result<int>> vocabularies_;  // of models, by path
  std::map<std::string, Result<std::optional<InitialWeights>>> weights_;
  std::map<std::string, Status> task_rooms_;  // of tasks, by what they depend on
};

}  // namespace gyre
