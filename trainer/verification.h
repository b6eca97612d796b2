#pragma once

// The work of VerifyFolder, a method a section of the format. Position and forward are in
// verify.cc, what trains is in verify_training.cc, statistics in verify_statistics.cc.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainer/backend/backend.h"
#include "trainer/deviation.h"
#include "trainer/expected.h"
#include "trainer/model_folder.h"
#include "trainer/statistics/record.h"
#include "trainer/tolerances.h"
#include "trainer/verify.h"

namespace gyre {

class Verification {
 public:
  Verification(const PretrainedFolder& folder, const Expected& expected, const Tolerances& allowed,
               Backend* backend)
      : folder_(folder), expected_(expected), allowed_(allowed), backend_(backend) {}

  Result<VerifyReport> Run();

 private:
  Status CheckPosition();
  Status CheckForward();
  Status CheckNll(Model* model);
  Status CheckTrace(Model* model);
  Status CheckGradient();
  Status CheckAccumulation();
  Status CheckSums(const std::vector<Batch>& parts, double targets);
  Status CheckMeanOfMeans(const std::vector<Batch>& parts);
  Status CheckAdamW();
  Status CompareWeights(const Model& model);
  Status CheckStatistics();
  void CompareNorms(const StatisticsRecord& record);
  void CompareContributions(const StatisticsRecord& record);
  void CompareHeads(const StatisticsRecord& record);
  bool HasNoGradient(const std::string& name) const;

  bool has_targets() const { return expected_.batch && !expected_.batch->targets.empty(); }
  /// Reports the deviation, or that there was nothing to compare.
  void Add(const Deviation& deviation);
  void Skip(const std::string& name, const std::string& why);
  Result<std::unique_ptr<Model>> CreateModel(bool training) const;
  /// Holds the model's gradients, divided by `targets`, against expected.gradient; returns their
  /// total norm.
  Result<double> CompareGradients(const Model& model, double targets, const std::string& prefix);

  const PretrainedFolder& folder_;
  const Expected& expected_;
  const Tolerances allowed_;
  Backend* const backend_;
  VerifyReport report_;
};

/// Lists of different lengths deviate without bound: false.
bool SameLength(size_t got, size_t want, const std::string& where, Deviation* deviation);
/// "name[3]".
std::string At(const std::string& name, size_t index);

/// The rows of a batch that `rows` numbers. INVALID_ARGUMENT: no such row.
Result<Batch> SelectRows(const Batch& batch, const std::vector<int>& rows);
int64_t TargetCount(const Batch& batch);

}  // namespace gyre
