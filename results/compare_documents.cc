// Intervals over the documents of the validation set.

#include <map>

#include "results/bootstrap.h"
#include "results/compare_parts.h"

namespace gyre {
namespace {

struct DocumentDifferences {
  size_t row = 0;
  int seeds = 0;
  std::vector<double> nats;  // a document, averaged over the seeds
};

/// Of the seeds that both have with the same documents. `targets` are those of the first.
DocumentDifferences Average(const ComparedRow& compared, std::vector<double>* targets) {
  DocumentDifferences sums{.row = compared.row};
  for (const SeedResult& ours : compared.variant->seeds) {
    for (const SeedResult& theirs : compared.baseline->seeds) {
      if (ours.seed != theirs.seed || !ours.value || !theirs.value) continue;
      const DocumentSums& a = ours.documents;
      const DocumentSums& b = theirs.documents;
      if (a.targets.empty() || a.targets != b.targets) continue;
      if (sums.seeds == 0) {
        *targets = a.targets;
        sums.nats.assign(targets->size(), 0.0);
      } else if (a.targets != *targets) {
        continue;
      }
      ++sums.seeds;
      for (size_t i = 0; i < sums.nats.size(); ++i) sums.nats[i] += a.nats[i] - b.nats[i];
    }
  }
  for (double& nats : sums.nats) nats /= sums.seeds;
  return sums;
}

std::string Documents(size_t count) {
  return std::to_string(count) + (count == 1 ? " document" : " documents");
}

}  // namespace

void CompareDocuments(const std::vector<ComparedRow>& compared, Comparison* comparison) {
  // Rows with the same documents see the same draws, which are made once.
  std::map<std::vector<double>, std::vector<DocumentDifferences>> by_targets;
  for (const ComparedRow& row : compared) {
    if (!comparison->rows[row.row].difference) continue;
    std::vector<double> targets;
    DocumentDifferences differences = Average(row, &targets);
    if (differences.seeds > 0) by_targets[targets].push_back(std::move(differences));
  }
  for (const auto& [targets, rows] : by_targets) {
    std::vector<std::vector<double>> nats;
    for (const DocumentDifferences& row : rows) nats.push_back(row.nats);
    const auto intervals = BootstrapRatios(nats, targets);
    if (!intervals) {
      comparison->notes.push_back("no interval over documents: the validation set has only " +
                                  Documents(targets.size()) + ", and it takes " +
                                  std::to_string(kFewestDocuments));
      continue;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      comparison->rows[rows[i].row].difference->documents = {
          (*intervals)[i].low, (*intervals)[i].high, static_cast<int>(targets.size()),
          rows[i].seeds};
    }
  }
}

}  // namespace gyre
