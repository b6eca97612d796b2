// The part of BlockReader that reads position.layers: [{layers: [0, 3-5, last], type: nope}, ...].

#include <algorithm>
#include <charconv>

#include "sweeps/spec/block_reader.h"
#include "sweeps/spec/nearest.h"

namespace gyre {
namespace {

constexpr int kMaxLayer = 1023;

// The keys that may differ from layer to layer.
constexpr std::string_view kPerLayer[] = {"type",
                                          "theta",
                                          "p",
                                          "keep",
                                          "spacing",
                                          "band",
                                          "scaling",
                                          "pairing",
                                          "rope_theta",
                                          "partial_rotary_factor",
                                          "rope_parameters",
                                          "rope_scaling"};

bool ReadLayer(std::string_view text, int* layer) {
  if (text == "last") {
    *layer = LayerOverride::kLast;
    return true;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *layer);
  const bool leading_zero = text.size() > 1 && text[0] == '0';
  return error == std::errc() && end == text.data() + text.size() && *layer >= 0 &&
         *layer <= kMaxLayer && !leading_zero;
}

// What two settings of position.layers are compared by.
Json Describe(const std::vector<LayerOverride>& overrides) {
  Json json = Json::array();
  for (const LayerOverride& override : overrides) {
    Json item{{"layers", override.ranges}};
    for (const auto& [field, setting] : override.settings)
      item[std::string(AllFields()[field].path)] = setting->value;
    json.push_back(std::move(item));
  }
  return json;
}

}  // namespace

void BlockReader::Layers(const std::string& path, const TextPlace& place, const YamlRef& ref,
                         Target* target) {
  const int field = FieldIndexOrDie("position.layers");
  Setting setting{.field = field, .place = place, .overrides = {}};
  if (!ref.node->IsNull() && !ref.node->IsSequence()) {
    faults_->Add(ref.place, path + " must be a list of mappings, and is " + DescribeNode(*ref.node),
                 "for example [{layers: [0, 3-5, last], type: nope}]");
    setting.usable = false;
  }
  for (size_t i = 0; i < ref.node->items.size(); ++i) {
    LayerOverride override;
    setting.usable &=
        LayerItem(path + "[" + std::to_string(i) + "]", ref.node->items[i], &override);
    setting.overrides.push_back(std::move(override));
  }
  if (ref.node->IsSequence()) setting.value = Describe(setting.overrides);
  Put(&target->settings, field, std::move(setting));
}

bool BlockReader::LayerItem(const std::string& path, const YamlRef& ref, LayerOverride* override) {
  override->place = ref.place;
  if (!ref.node->IsMapping()) {
    faults_->Add(ref.place, path + " must be a mapping, and is " + DescribeNode(*ref.node));
    return false;
  }
  bool good = true;
  Target own;
  const YamlEntry* layers = nullptr;
  for (const YamlEntry& entry : ref.node->entries) {
    if (entry.key == "layers") {
      layers = &entry;
      good &= LayerNumbers(path + ".layers", entry.value, override);
    } else if (entry.key == "sliding_window") {
      Field_(FieldIndexOrDie("model.sliding_window"), path + ".sliding_window", entry.place,
             entry.value, &own);
    } else if (std::find(std::begin(kPerLayer), std::end(kPerLayer), entry.key) !=
               std::end(kPerLayer)) {
      Entry("position", entry, &own);
    } else {
      std::vector<std::string> keys(std::begin(kPerLayer), std::end(kPerLayer));
      keys.insert(keys.end(), {"layers", "sliding_window"});
      faults_->Add(entry.place, "unknown key " + Quoted(entry.key) + " in " + label_ + "." + path,
                   DidYouMean(entry.key, keys));
      good = false;
    }
  }
  if (layers == nullptr) {
    faults_->Add(ref.place, path + ".layers is missing",
                 "say which layers, e.g. layers: [0, 3-5, last]");
    good = false;
  }
  FinishRope(&own);
  override->settings = std::move(own.settings);
  return good;
}

bool BlockReader::LayerNumbers(const std::string& path, const YamlRef& ref,
                               LayerOverride* override) {
  std::vector<YamlRef> items{ref};
  if (ref.node->IsSequence()) items = ref.node->items;
  if (items.empty()) {
    faults_->Add(ref.place, path + " is an empty list");
    return false;
  }
  bool good = true;
  for (const YamlRef& item : items) {
    const std::string_view text =
        item.node->IsScalar() ? std::string_view(item.node->text) : std::string_view();
    const size_t dash = text.find('-', 1);
    int first = 0, last = 0;
    bool readable = !text.empty() && ReadLayer(text.substr(0, dash), &first);
    last = first;
    if (readable && dash != std::string_view::npos)
      readable = ReadLayer(text.substr(dash + 1), &last);
    const bool backwards =
        readable && last != LayerOverride::kLast && (first == LayerOverride::kLast || first > last);
    if (!readable || backwards) {
      faults_->Add(
          item.place,
          path + " takes layers such as 0, 3-5 or last, and not " + DescribeNode(*item.node),
          "layers count from 0");
      good = false;
      continue;
    }
    override->ranges.emplace_back(first, last);
  }
  return good;
}

}  // namespace gyre
