#pragma once

// How checks of a merged point look at settings and say who is to blame.

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweeps/spec/resolve.h"

namespace gyre {

class PointChecks {
 public:
  PointChecks(const GridPoint& point, const TextPlace& fallback, std::vector<PointFault>* faults)
      : point_(point), fallback_(fallback), faults_(faults) {}

  const GridPoint& point() const { return point_; }
  const TextPlace& fallback() const { return fallback_; }
  std::vector<PointFault>* faults() { return faults_; }
  bool Has(int field) const { return point_.At(field) != nullptr; }
  /// False if one of the fields has a faulty value, which is reported already.
  bool Usable(std::initializer_list<int> fields) const;
  /// Adds a fault that the fields bring about together, the likeliest to be wrong first; not if one
  /// is faulty anyway.
  void Add(std::initializer_list<int> fields, const std::string& message,
           const std::string& help = "");

  template <typename T>
  T Get(int field, T otherwise) const {
    const Setting* setting = point_.At(field);
    return setting == nullptr ? otherwise : setting->value.get<T>();
  }

 private:
  const GridPoint& point_;
  const TextPlace& fallback_;
  std::vector<PointFault>* faults_;
};

/// The parts of a JobConfig; each fills its part from the settings and reports what does not fit.
/// `vocabulary` is the tokenizer's; `model` and `position` hold the defaults: with `pretrained`,
/// those of the initial weights.
void ResolveModel(PointChecks* checks, int vocabulary, bool pretrained, ModelConfig* model);
/// A fault that lists where the resolved model is not the one that the initial weights are of.
void CheckModelOf(PointChecks* checks, const std::string& init_from, const InitialWeights& weights,
                  const ModelConfig& model);
void ResolvePosition(PointChecks* checks, const ModelConfig& model, PositionConfig* position,
                     Notes* notes);
/// After the others: a switch goes from the block's encoding to one within the budget. `defaults`
/// as they were for the block.
void ResolveSwitches(PointChecks* checks, const PositionConfig& defaults, JobConfig* config,
                     Notes* notes);
void ResolveTraining(PointChecks* checks, JobConfig* config);
/// After the training: tasks have distances within its contexts, and names that its validation sets
/// do not have. `known` is what was found out for other points.
using RoomChecks = std::map<std::string, Status>;
void ResolveTasks(PointChecks* checks, RoomChecks* known, JobConfig* config);
/// After the others: interventions change the encoding that training ends with. `defaults` as they
/// were for the block.
void ResolveInterventions(PointChecks* checks, const PositionConfig& defaults, JobConfig* config,
                          Notes* notes);

/// Sequences computed at once, from the shapes alone: the largest divisor of the batch whose
/// activations fit 512 MiB.
int MicroBatchFor(const ModelConfig& model, int context, int64_t sequences);

}  // namespace gyre
