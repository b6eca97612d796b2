#include "sweeps/spec/sample.h"

#include <set>

#include "base/random.h"
#include "sweeps/spec/scalar.h"

namespace gyre {
namespace {

bool IsWhole(const AxisPath& path) {
  const FieldKind kind = AllFields()[path.field].kind;
  return kind == FieldKind::kCount || kind == FieldKind::kCountOrAuto;
}

// Empty after a fault.
GridPlace Draw(std::vector<Axis>* axes, const SampleDraft& sample, uint64_t draw,
               const Settings* base, const ReadContext& context) {
  GridPlace at;
  for (Axis& axis : *axes) {
    AxisPath& path = axis.paths.front();
    const Random random(sample.seed, "sample/" + std::string(AllFields()[path.field].path));
    if (!axis.open) {
      at.push_back(random.Below(axis.count, draw, 0));
      continue;
    }
    const double value = path.range->Drawn(random.Uniform(draw, 0), IsWhole(path));
    const std::string text = FormatNumber(value);
    const auto [known, is_new] = path.drawn.emplace(text, path.values.size());
    at.push_back(known->second);
    if (is_new && !AppendComputed(&path, value, base, context)) return {};
  }
  return at;
}

}  // namespace

std::vector<GridPlace> DrawPlaces(std::vector<Axis>* axes, const SampleDraft& sample,
                                  const Settings* base,
                                  const std::function<bool(const GridPlace&)>& is_excluded,
                                  const ReadContext& context) {
  const int64_t there_are = CountPoints(*axes);
  std::vector<GridPlace> places;
  std::set<GridPlace> seen;
  // Enough to come upon every point of a small grid; few enough to end where `exclude` drops all.
  const uint64_t most_draws = 20 * sample.count + 1000;
  for (uint64_t draw = 0; draw < most_draws && places.size() < sample.count; ++draw) {
    if (static_cast<int64_t>(seen.size()) == there_are) break;
    GridPlace at = Draw(axes, sample, draw, base, context);
    if (at.size() != axes->size()) return places;
    if (seen.insert(at).second && !is_excluded(at)) places.push_back(std::move(at));
  }
  const std::string of = there_are == kUncountable
                             ? " points of the grid"
                             : " of " + WithSeparators(there_are) + " points of the grid";
  context.notes->Add("sample: " + WithSeparators(places.size()) + of + ", drawn with seed " +
                     std::to_string(sample.seed));
  if (places.size() < sample.count) {
    context.notes->Add("sample.count is " + WithSeparators(sample.count) +
                       ", and no more different points were found");
  }
  return places;
}

}  // namespace gyre
