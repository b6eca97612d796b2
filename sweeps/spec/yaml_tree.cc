#include "sweeps/spec/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace gyre {
namespace {

constexpr size_t kMaxDepth = 64;
constexpr int64_t kMaxNodes = 1'000'000;

struct StopParsing {};

// The characters of a scalar's source, or 0 if the quote that opens it is never closed. yaml-cpp
// takes the end of the file for a closing quote.
size_t LengthInSource(std::string_view source) {
  // Anchor and tag come before the scalar.
  while (!source.empty() && (source[0] == '&' || source[0] == '!')) {
    source.remove_prefix(std::min(source.find_first_of(" \t\n"), source.size()));
    source.remove_prefix(std::min(source.find_first_not_of(" \t\n"), source.size()));
  }
  if (source.empty() || (source[0] != '"' && source[0] != '\'')) return 1;
  const char quote = source[0];
  for (size_t i = 1; i < source.size(); ++i) {
    if (quote == '"' && source[i] == '\\') {
      ++i;
    } else if (source[i] == quote) {
      if (quote == '"' || i + 1 >= source.size() || source[i + 1] != '\'') return i + 1;
      ++i;
    }
  }
  return 0;
}

struct Advice {
  const char* theirs;
  const char* message;
  const char* help;
};
constexpr Advice kAdvice[] = {
    {"illegal map value", "a ':' that begins a value is not allowed here",
     "put a space after the ':' of each key, and quotes around text that has ': ' in it"},
    {"end of map not found", "this line fits no mapping that is open here",
     "keys of one mapping begin in the same column"},
    {"end of sequence not found", "this line fits no list that is open here",
     "items of one list begin in the same column"},
    {"unknown token", "a value cannot begin with this character", "put it in quotes"},
    {"the referenced anchor is not defined",
     "the alias refers to an anchor that is not defined above", ""},
    {"illegal map key", "a key is not allowed here",
     "begin it in the column of the keys beside it"},
    {"illegal block entry", "a list item '- ' is not allowed here",
     "begin it on a line of its own"},
};

}  // namespace

/// Takes yaml-cpp's events. Only this class, called by yaml-cpp, throws; the constructor of
/// YamlTree catches.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& source, YamlTree* tree, Faults* faults, int file)
      : source_(source), tree_(tree), faults_(faults), file_(file) {}

  void OnDocumentStart(const YAML::Mark&) override {
    anchors_.clear();
    open_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode* node = NewNode(YamlKind::kNull, mark, anchor);
    node->complete = true;
    Attach({node, node->place});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const TextPlace place = At(mark);
    const YamlNode* node = anchors_[anchor];
    if (node == nullptr || !node->complete) {
      faults_->Add(place, "the alias refers to itself");
      YamlNode* nothing = NewNode(YamlKind::kNull, mark, 0);
      nothing->complete = true;
      node = nothing;
    }
    Attach({node, place});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode* node = NewNode(YamlKind::kScalar, mark, anchor);
    node->complete = true;
    node->text = value;
    node->quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    node->place.length = static_cast<int>(std::max<size_t>(value.size(), 1));
    if (tag == "!") {
      const size_t length = LengthInSource(source_.From(node->place));
      if (length == 0) {
        faults_->Add(node->place, "the text in quotes that begins here does not end",
                     "close the quote");
        throw StopParsing{};
      }
      node->place.length = static_cast<int>(length);
    }
    CheckTag(tag, *node);
    Attach({node, node->place});
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(YamlKind::kSequence, mark, tag, anchor, style);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(YamlKind::kMapping, mark, tag, anchor, style);
  }
  void OnMapEnd() override {
    ApplyMerges(open_.back().node);
    Close();
  }

 private:
  struct OpenNode {
    YamlNode* node;
    bool flow;
    bool has_key = false;  // of a mapping: the next node is the value
    bool drop = false;     // the pending key is unusable: its value is read and forgotten
    std::unordered_map<std::string, int> keys;  // with their lines
  };

  TextPlace At(const YAML::Mark& mark) const { return {mark.line + 1, mark.column, 1, file_}; }

  YamlNode* NewNode(YamlKind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (++count_ > kMaxNodes) {
      faults_->Add(At(mark), "the file has more than " + WithSeparators(kMaxNodes) + " values",
                   "split it into several sweeps");
      throw StopParsing{};
    }
    YamlNode& node = tree_->nodes_.emplace_back();
    node.kind = kind;
    node.place = At(mark);
    if (anchor != 0) anchors_[anchor] = &node;
    const bool flow = !open_.empty() && open_.back().flow;
    if (kind != YamlKind::kNull && !flow && source_.IndentedByTab(node.place.line))
      TabFault(node.place.line);
    return &node;
  }

  void TabFault(int line) {
    const size_t tab = source_.Line(line).find('\t');
    faults_->Add({line, static_cast<int>(tab), 1, file_}, "a tab in the indentation",
                 "indent with spaces");
  }

  void Open(YamlKind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    if (open_.size() >= kMaxDepth) {
      faults_->Add(At(mark), "nested deeper than " + std::to_string(kMaxDepth) + " levels");
      throw StopParsing{};
    }
    YamlNode* node = NewNode(kind, mark, anchor);
    CheckTag(tag, *node);
    open_.push_back({.node = node, .flow = style == YAML::EmitterStyle::Flow, .keys = {}});
  }

  void Close() {
    YamlNode* node = open_.back().node;
    node->complete = true;
    open_.pop_back();
    Attach({node, node->place});
  }

  void CheckTag(const std::string& tag, const YamlNode& node) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    for (const char* known : {"str", "int", "float", "bool", "null", "map", "seq"}) {
      if (tag == std::string("tag:yaml.org,2002:") + known) return;
    }
    faults_->Add(node.place, "the tag " + Quoted(tag) + " means nothing here", "leave it out");
  }

  void Attach(const YamlRef& ref) {
    if (open_.empty()) {
      if (!ref.node->IsNull()) tree_->documents_.push_back(ref);
      return;
    }
    OpenNode& parent = open_.back();
    if (parent.node->IsSequence()) {
      parent.node->items.push_back(ref);
    } else if (!parent.has_key) {
      TakeKey(&parent, ref);
    } else {
      parent.has_key = false;
      if (parent.drop) return;
      YamlEntry& entry = parent.node->entries.back();
      entry.value = ref;
      // An empty value has the place of whatever follows it; say where its key stands instead.
      if (ref.node->IsNull()) entry.value.place = entry.place;
    }
  }

  void TakeKey(OpenNode* parent, const YamlRef& ref) {
    parent->has_key = true;
    parent->drop = true;
    if (!ref.node->IsScalar()) {
      const bool null = ref.node->IsNull();
      faults_->Add(
          ref.place,
          std::string("a key must be a name, and is ") + (null ? "null" : DescribeNode(*ref.node)),
          null ? "quote it if a name is meant" : "");
      return;
    }
    const std::string& key = ref.node->text;
    const auto [first, is_new] = parent->keys.emplace(key, ref.place.line);
    if (!is_new) {
      faults_->Add(ref.place, "duplicate key " + Quoted(key) + ", first on line " +
                                  std::to_string(first->second));
      return;
    }
    parent->drop = false;
    parent->node->entries.push_back({key, ref.node->quoted, ref.place, {}});
  }

  // `<<: *other` or `<<: [*one, *two]`: their entries stand where the `<<` stands, unless the
  // mapping has the key itself.
  void ApplyMerges(YamlNode* node) {
    const auto is_merge = [](const YamlEntry& entry) { return entry.key == "<<" && !entry.quoted; };
    const auto merge = std::find_if(node->entries.begin(), node->entries.end(), is_merge);
    if (merge == node->entries.end()) return;
    std::vector<YamlRef> sources;
    if (merge->value.node->IsSequence()) {
      sources = merge->value.node->items;
    } else {
      sources.push_back(merge->value);
    }
    std::vector<YamlEntry> merged;
    std::unordered_map<std::string, size_t> from;
    for (const YamlRef& source : sources) {
      if (!source.node->IsMapping()) {
        faults_->Add(source.place, "'<<' takes a mapping or a list of mappings, and not " +
                                       DescribeNode(*source.node));
        continue;
      }
      for (const YamlEntry& entry : source.node->entries) {
        if (++count_ > kMaxNodes) throw StopParsing{};
        if (open_.back().keys.contains(entry.key)) continue;
        const auto [found, is_new] = from.emplace(entry.key, merged.size());
        if (is_new) {
          merged.push_back(entry);
        } else if (!Same(*merged[found->second].value.node, *entry.value.node)) {
          faults_->Add(source.place, "the merged mappings disagree on " + Quoted(entry.key),
                       "write " + entry.key + " in this mapping itself: what stands here wins");
        }
      }
    }
    const auto place = node->entries.erase(merge);
    node->entries.insert(place, merged.begin(), merged.end());
  }

  // Whether both say the same. What is too large to compare counts as different.
  bool Same(const YamlNode& a, const YamlNode& b) {
    if (&a == &b) return true;
    if (++compared_ > kMaxNodes || a.kind != b.kind || a.text != b.text || a.quoted != b.quoted ||
        a.items.size() != b.items.size() || a.entries.size() != b.entries.size()) {
      return false;
    }
    for (size_t i = 0; i < a.items.size(); ++i) {
      if (!Same(*a.items[i].node, *b.items[i].node)) return false;
    }
    for (const YamlEntry& entry : a.entries) {
      const YamlEntry* other = b.Find(entry.key);
      if (other == nullptr || !Same(*entry.value.node, *other->value.node)) return false;
    }
    return true;
  }

 public:
  // After yaml-cpp gave up at a line: a tab in the indentation is the likelier cause than what it
  // says.
  void SyntaxFault(const YAML::ParserException& error) {
    const int line = std::clamp(error.mark.line + 1, 1, source_.lines());
    for (int number = std::max(line - 1, 1); number <= line; ++number) {
      if (source_.IndentedByTab(number)) return TabFault(number);
    }
    TextPlace place{line, std::max(error.mark.column, 0), 1, file_};
    // What is open stands where it was opened; yaml-cpp names the place where it gave up waiting.
    const bool flow = error.msg.ends_with("flow not found") && !open_.empty();
    if (flow) {
      const char* close =
          open_.back().node->IsMapping() ? "'{' is not closed" : "'[' is not closed";
      return faults_->Add(open_.back().node->place, std::string("the ") + close,
                          "close it, or put a comma between its items");
    }
    if (const int colon = ColonWithoutSpace(line - 1); colon >= 0)
      place = {line - 1, colon, 1, file_};
    for (const Advice& advice : kAdvice) {
      if (error.msg == advice.theirs) return faults_->Add(place, advice.message, advice.help);
    }
    faults_->Add(place, "this is not YAML: " + error.msg);
  }

 private:
  // The column of the ':' in a line such as `sweep:name`, which is text and no key; or -1.
  int ColonWithoutSpace(int line) const {
    const std::string_view text = source_.Line(line);
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", begin);
    const bool glued = end != std::string_view::npos && end > begin && text[end] == ':' &&
                       end + 1 < text.size() && text[end + 1] != ' ';
    return glued ? static_cast<int>(end) : -1;
  }

  const SourceText& source_;
  YamlTree* tree_;
  Faults* faults_;
  int file_;
  int64_t count_ = 0, compared_ = 0;
  std::unordered_map<YAML::anchor_t, const YamlNode*> anchors_;
  std::vector<OpenNode> open_;
};

YamlTree::YamlTree(const SourceText& source, Faults* faults, int file) {
  std::istringstream stream(source.text());
  TreeBuilder builder(source, this, faults, file);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::ParserException& error) {
    builder.SyntaxFault(error);
  } catch (const YAML::Exception& error) {
    faults->Add({error.mark.line + 1, std::max(error.mark.column, 0), 1, file},
                "this is not YAML: " + error.msg);
  } catch (const StopParsing&) {
    // The fault is noted.
  }
}

const YamlEntry* YamlNode::Find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [key](const YamlEntry& e) { return e.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

std::string DescribeNode(const YamlNode& node) {
  switch (node.kind) {
    case YamlKind::kNull:
      return "empty";
    case YamlKind::kScalar:
      return Quoted(node.text);
    case YamlKind::kSequence:
      return "a list";
    case YamlKind::kMapping:
      return "a mapping";
  }
  return "";
}

}  // namespace gyre
