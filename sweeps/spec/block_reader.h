#pragma once

// Reads a block of job fields (base, a variant, one value of a grid) into settings, by the table of
// fields: unknown keys, wrong kinds and values are reported, Hugging Face's spellings become the
// neutral ones.

#include <string>

#include "sweeps/spec/faults.h"
#include "sweeps/spec/notes.h"
#include "sweeps/spec/settings.h"
#include "sweeps/spec/yaml_tree.h"

namespace gyre {

/// What every reader of one file shares.
struct ReadContext {
  SettingStore* store;
  Notes* notes;
  Faults* faults;
  const std::vector<std::string>* corpora;  // users' own
  const std::vector<std::string>* folders;  // of the files, by TextPlace::file
};

class BlockReader {
 public:
  /// `label` names the block in messages: "base", "variants.NoPE". `below` is what the layer below
  /// says (may be null): a partial_rotary_factor alone means what the rope_type below makes of it.
  BlockReader(std::string label, Rank rank, const Settings* below, const ReadContext& context);

  Settings ReadBlock(const YamlRef& ref);
  /// One field of a dotted path, other spellings too.
  Settings ReadField(int field, const YamlRef& ref);

 private:
  // What Hugging Face's rope keys say before it is known how they belong together.
  struct RopeKeys {
    std::string type;
    TextPlace type_place, partial_place;
    std::optional<double> partial;
    bool factor = false;
  };
  // Where settings go: the block's own, or those of one override of layers.
  struct Target {
    Settings settings;
    RopeKeys rope;
  };

  void Mapping(const std::string& prefix, const YamlRef& ref, Target* target);
  void Entry(const std::string& prefix, const YamlEntry& entry, Target* target);
  void Field_(int field, const std::string& path, const TextPlace& place, const YamlRef& ref,
              Target* target);
  void HuggingFace(int field, const std::string& path, const TextPlace& place, const YamlRef& ref,
                   Target* target);
  bool Ignored(const std::string& prefix, const YamlEntry& entry);
  void UnknownKey(const std::string& prefix, const YamlEntry& entry);
  void Rope(int field, const std::string& path, const TextPlace& place, const YamlRef& ref,
            Target* target);
  void RopeKey(const std::string& path, const YamlEntry& entry, Target* target);
  void FinishRope(Target* target);
  void Switch(const std::string& path, const TextPlace& place, const YamlRef& ref, Target* target);
  bool SwitchItem(const std::string& path, const YamlRef& ref, LayerOverride* change, Json* value);
  void Interventions(const std::string& path, const TextPlace& place, const YamlRef& ref,
                     Target* target);
  bool InterventionItem(const std::string& path, const YamlRef& ref, LayerOverride* change,
                        Json* value);
  void Layers(const std::string& path, const TextPlace& place, const YamlRef& ref, Target* target);
  bool LayerItem(const std::string& path, const YamlRef& ref, LayerOverride* override);
  bool LayerNumbers(const std::string& path, const YamlRef& ref, LayerOverride* override);
  void Put(Settings* settings, int field, Setting setting);
  void Put(Target* target, const char* path, Json value, const TextPlace& place);

  std::string label_;
  Rank rank_;
  const Settings* below_;
  SettingStore* store_;
  Notes* notes_;
  Faults* faults_;
  const std::vector<std::string>* corpora_;
};

}  // namespace gyre
