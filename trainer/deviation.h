#pragma once

#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "trainer/verify.h"

namespace gyre {

/// Gathers the largest deviation of one quantity.
class Deviation {
 public:
  Deviation(std::string name, double tolerance)
      : quantity_{.name = std::move(name), .tolerance = tolerance} {}

  /// |got - want| / scale; with scale 0 only equality holds.
  void Compare(double got, double want, double scale, const std::string& where) {
    compared_ = true;
    double deviation = std::abs(got - want) / std::abs(scale);
    if (mismatch_) return;
    if (got == want) deviation = 0;
    if (!(deviation <= std::numeric_limits<double>::max())) {
      deviation = std::numeric_limits<double>::infinity();
    }
    if (deviation < quantity_.deviation || (deviation == 0 && !quantity_.where.empty())) return;
    quantity_.deviation = deviation;
    quantity_.where = where;
    got_ = got, want_ = want;
  }

  /// What cannot even be compared.
  void Mismatch(const std::string& what) {
    compared_ = true;
    quantity_.deviation = std::numeric_limits<double>::infinity();
    quantity_.where = what;
    mismatch_ = true;
  }

  bool compared() const { return compared_; }
  VerifiedQuantity Take() const {
    VerifiedQuantity quantity = quantity_;
    if (quantity.deviation == 0 || mismatch_) return quantity;
    char values[80];
    std::snprintf(values, sizeof values, "%.9g, expected %.9g", got_, want_);
    quantity.where += (quantity.where.empty() ? "" : ": ") + std::string(values);
    return quantity;
  }

 private:
  VerifiedQuantity quantity_;
  bool compared_ = false, mismatch_ = false;
  double got_ = 0, want_ = 0;
};

}  // namespace gyre
