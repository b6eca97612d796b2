#pragma once

// The parts of CompareResults(), each a pure function that adds its share to the comparison.

#include <cstddef>
#include <string>
#include <vector>

#include "results/compare.h"
#include "results/comparison.h"

namespace gyre {

/// A row whose variant is compared with another.
struct ComparedRow {
  size_t row = 0;  // of comparison->rows
  const VariantResults* variant = nullptr;
  const VariantResults* baseline = nullptr;
};

/// Mean, interval and p-value of differences over seeds, which must not be empty.
Difference DifferenceOf(const std::vector<double>& differences, std::string_view metric);

/// What is subtracted: perplexities by their logarithm. Not finite where there is none.
double DifferenceBetween(double ours, double theirs, std::string_view metric);

/// Fills in the row's difference, or notes why there is none.
void CompareSeeds(const ComparedRow& compared, const CompareOptions& options,
                  Comparison* comparison);

/// What so many seeds resolve, and how many the observed differences take.
void AddPower(Comparison* comparison);

/// Adjusts all p-values of the table as one family.
void AdjustForFamily(Comparison* comparison);

/// The intervals over documents, of the differences that have been filled in.
void CompareDocuments(const std::vector<ComparedRow>& compared, Comparison* comparison);

/// The differences at each place of the curves.
void CompareCurves(const std::vector<ComparedRow>& compared, Comparison* comparison);

/// The tokens at which the curves reach `level`; `sweeps` in the order of the rows.
void CompareReach(const std::vector<SweepResults>& sweeps, const std::vector<ComparedRow>& compared,
                  double level, Comparison* comparison);

/// "2 of 3 seeds".
std::string OfSeeds(int count, int seeds);

}  // namespace gyre
