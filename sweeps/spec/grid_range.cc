#include "sweeps/spec/grid_range.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sweeps/spec/nearest.h"
#include "sweeps/spec/scalar.h"

namespace gyre {
namespace {

class RangeReader {
 public:
  RangeReader(std::string name, bool sampled, Faults* faults)
      : name_(std::move(name)), sampled_(sampled), faults_(faults) {}

  std::optional<RangeValues> Read(const YamlRef& ref) {
    RangeValues range;
    bool good = true, bounds = false, count = false;
    for (const YamlEntry& entry : ref.node->entries) {
      if (entry.key == "range" || entry.key == "log_range") {
        if (bounds) return Fault(entry.place, "has both range and log_range");
        bounds = true;
        range.logarithmic = entry.key == "log_range";
        good &= Bounds(entry.value, &range);
      } else if (entry.key == "count") {
        count = true;
        good &= Count(entry.value, &range);
      } else {
        faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + name_,
                     DidYouMean(entry.key, {"range", "log_range", "count"}));
        good = false;
      }
    }
    if (!bounds || (!count && !sampled_)) {
      return Fault(
          ref.place, std::string("needs ") + (bounds ? "a count" : "a range or log_range"),
          "for example {log_range: [1e-4, 1e-2], count: 5}" +
              std::string(bounds && name_.starts_with("grid.") ? "; with sample it needs none"
                                                               : ""));
    }
    if (!good) return std::nullopt;
    return range;
  }

 private:
  std::optional<RangeValues> Fault(const TextPlace& place, const std::string& rest,
                                   const std::string& help = "") {
    faults_->Add(place, name_ + " " + rest, help);
    return std::nullopt;
  }

  std::optional<double> Value(const YamlRef& ref, const std::string& what) {
    if (!ref.node->IsScalar()) {
      Fault(ref.place, what + " must be a number, and is " + DescribeNode(*ref.node));
      return std::nullopt;
    }
    const Reading<Number> number = ReadNumber(ref.node->text, "a number");
    if (!number.value)
      Fault(ref.place, what + " " + number.complaint.message, number.complaint.help);
    return number.value ? std::optional(number.value->value) : std::nullopt;
  }

  bool Bounds(const YamlRef& ref, RangeValues* range) {
    if (!ref.node->IsSequence() || ref.node->items.size() != 2) {
      const bool list = ref.node->IsSequence();
      const std::string is =
          list ? "has " + std::to_string(ref.node->items.size()) : "is " + DescribeNode(*ref.node);
      return Fault(ref.place, "range must be a list of two numbers, and " + is).has_value();
    }
    const auto first = Value(ref.node->items[0], "range"),
               last = Value(ref.node->items[1], "range");
    if (!first || !last) return false;
    range->first = *first;
    range->last = *last;
    const bool positive = *first > 0 && *last > 0;
    if (range->logarithmic && !positive)
      return Fault(ref.place, "log_range must lie above 0").has_value();
    return true;
  }

  bool Count(const YamlRef& ref, RangeValues* range) {
    const auto count = Value(ref, "count");
    if (!count) return false;
    if (*count < 1 || *count > 1e15 || std::trunc(*count) != *count) {
      return Fault(ref.place,
                   "count must be a whole number of at least 1, and is " + ref.node->text)
          .has_value();
    }
    range->count = static_cast<int64_t>(*count);
    return true;
  }

  std::string name_;
  bool sampled_;
  Faults* faults_;
};

}  // namespace

double RangeValues::At(int64_t i) const {
  if (i == 0) return first;
  if (i == count - 1) return last;
  const double share = static_cast<double>(i) / static_cast<double>(count - 1);
  return logarithmic ? first * std::pow(last / first, share) : first + (last - first) * share;
}

double RangeValues::Drawn(double share, bool whole) const {
  const double low = std::min(first, last), high = std::max(first, last);
  const double end = whole ? high + 1 : high;
  const double value = logarithmic ? low * std::pow(end / low, share) : low + (end - low) * share;
  if (whole) return std::clamp(std::floor(value), low, high);
  char brief[32];
  std::snprintf(brief, sizeof(brief), "%.6g", value);
  return std::clamp(std::strtod(brief, nullptr), low, high);
}

std::optional<RangeValues> ReadRange(const std::string& name, const YamlRef& ref, bool sampled,
                                     Faults* faults) {
  return RangeReader(name, sampled, faults).Read(ref);
}

}  // namespace gyre
