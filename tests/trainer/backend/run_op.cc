#include <gtest/gtest.h>

#include <limits>

#include "tests/trainer/backend/op_case.h"

namespace gyre {
namespace {

constexpr int64_t kGuard = 64;  // elements around each buffer
// Exact in every precision, and whoever reads it has it in his results, even times zero.
constexpr double kSentinel = std::numeric_limits<double>::infinity();

template <typename Element>
Place<Element> AllocateGuarded(Backend& backend, const std::vector<double>& values) {
  Place<Element> place;
  const int64_t count = static_cast<int64_t>(values.size());
  EXPECT_TRUE(backend.Allocate(count + 2 * kGuard, &place).ok());
  backend.Write(place, std::vector<double>(count + 2 * kGuard, kSentinel));
  backend.Write(place.At(kGuard), values);
  return place.At(kGuard);
}

template <typename Element>
std::vector<double> TakeGuarded(Backend& backend, const std::string& name, Place<Element> place,
                                size_t count) {
  std::vector<double> all(count + 2 * kGuard);
  EXPECT_TRUE(backend.Read(place.At(-kGuard), all).ok());
  for (size_t i = 0; i < all.size(); ++i) {
    const bool inside = i >= kGuard && i < kGuard + count;
    if (!inside && all[i] != kSentinel) {
      ADD_FAILURE() << name << ": place " << static_cast<int64_t>(i) - kGuard << " of " << count
                    << " was written";
      break;
    }
  }
  backend.Free(place.At(-kGuard));
  return {all.begin() + kGuard, all.end() - kGuard};
}

}  // namespace

RealBuffers RunOn(Backend& backend, const OpCase& op, const std::vector<Operation>& operations) {
  EXPECT_TRUE(backend.Reserve(op.shape).ok());
  Places places;
  for (const auto& [name, values] : op.reals) {
    places.reals[name] = AllocateGuarded<Real>(backend, values);
  }
  for (const auto& [name, values] : op.narrows) {
    places.narrows[name] = AllocateGuarded<Narrow>(backend, values);
  }
  for (const auto& [name, values] : op.ints) {
    EXPECT_TRUE(backend.Allocate(static_cast<int64_t>(values.size()), &places.ints[name]).ok());
    backend.Write(places.ints[name], values);
  }
  for (const Operation& operation : operations) operation(backend, places);
  RealBuffers after;
  for (const auto& [name, values] : op.reals) {
    after[name] = TakeGuarded(backend, name, places.R(name), values.size());
  }
  for (const auto& [name, values] : op.narrows) {
    after[name] = TakeGuarded(backend, name, places.N(name), values.size());
  }
  for (const auto& [name, place] : places.ints) backend.Free(place);
  return after;
}

}  // namespace gyre
