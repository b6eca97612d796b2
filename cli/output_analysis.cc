#include "cli/output_analysis.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>
#include <vector>

#include "cli/output_section.h"
#include "cli/output_table.h"
#include "results/numbers.h"
#include "results/query.h"

namespace gyre {
namespace {

constexpr char kUnknown[] = "-";

std::string Fixed(double value, int decimals) {
  return std::isfinite(value) ? FormatFixed(value, decimals) : kUnknown;
}

std::string Percent(double share) {
  return std::isfinite(share) ? FormatFixed(100 * share, 0) + "%" : kUnknown;
}

std::string Wavelength(double frequency) {
  return frequency > 0 ? FormatCount(2 * std::numbers::pi / frequency) : "∞";
}

std::string PeakInWords(const Peak& peak) {
  if (peak.pair < 0) return kUnknown;
  return std::to_string(peak.pair) + " (" + Wavelength(peak.frequency) + "), " +
         (std::isfinite(peak.ratio) ? FormatFixed(peak.ratio, 1) : "∞") + "x";
}

std::string PlaceOf(const HeadScores& scores) {
  return std::to_string(scores.layer) + ":" + std::to_string(scores.head);
}

// "Norms of queries peak at pair 4 (wavelength 628 tokens) in 4 of 5 layers." Empty: not known.
std::string BandInWords(const Findings& findings, const char* what, Peak LayerFinding::*peak) {
  std::map<int, int> layers;
  for (const LayerFinding& layer : findings.layers) {
    if ((layer.*peak).pair >= 0) ++layers[(layer.*peak).pair];
  }
  if (layers.empty()) return "";
  const auto most = std::max_element(layers.begin(), layers.end(),
                                     [](auto& a, auto& b) { return a.second < b.second; });
  const auto layer =
      std::find_if(findings.layers.begin(), findings.layers.end(),
                   [&](const LayerFinding& of) { return (of.*peak).pair == most->first; });
  return std::string("Norms of ") + what + " peak at pair " + std::to_string(most->first) +
         " (wavelength " + Wavelength((*layer.*peak).frequency) + " tokens) in " +
         std::to_string(most->second) + " of " + std::to_string(findings.layers.size()) +
         " layers.";
}

std::string PositionalHeads(const Findings& findings) {
  std::vector<const HeadFinding*> heads;
  for (const HeadFinding& head : findings.heads) {
    if (head.kind == "positional") heads.push_back(&head);
  }
  if (findings.heads.empty()) return "";
  if (heads.empty()) return "No head is positional.";
  constexpr size_t kMost = 12;
  std::stable_sort(heads.begin(), heads.end(),
                   [](auto* a, auto* b) { return a->positional() > b->positional(); });
  std::string words = std::to_string(heads.size()) + " of " +
                      std::to_string(findings.heads.size()) + " heads are positional: ";
  for (size_t i = 0; i < std::min(kMost, heads.size()); ++i) {
    const HeadScores& scores = heads[i]->scores;
    const bool previous = scores.previous >= scores.diagonal;
    words += (i > 0 ? ", " : "") + PlaceOf(scores) + (previous ? " previous " : " diagonal ") +
             FormatFixed(heads[i]->positional(), 2);
  }
  return words +
         (heads.size() > kMost ? ", and " + std::to_string(heads.size() - kMost) + " more." : ".");
}

std::string CorrelationInWords(const Findings& findings) {
  if (!std::isfinite(findings.norms_correlation) && !std::isfinite(findings.logits_correlation)) {
    return "";
  }
  return "Over heads, how positional they are correlates with the share of high frequencies "
         "(ranks) "
         "at " +
         Fixed(findings.norms_correlation, 2) + " for squared norms of queries and at " +
         Fixed(findings.logits_correlation, 2) + " for exact shares of logits.";
}

OutputSection LayersOf(const AnalysisReport& report) {
  OutputSection section;
  const ForwardLosses& losses = report.analysis.losses;
  const double loss = losses.nats / static_cast<double>(losses.targets);
  section.title = report.name + ": " + report.model + "; " + report.text + "; loss " +
                  Fixed(loss, 4) + " nats a token, perplexity " + Fixed(std::exp(loss), 3);
  section.table.columns = {{"layer", true},           {"positional", true},
                           {"first-token", true},     {"semantic", true},
                           {"queries peak at", true}, {"keys peak at", true},
                           {"high in norms", true},   {"high in logits", true}};
  for (const LayerFinding& layer : report.findings.layers) {
    section.table.rows.push_back({std::to_string(layer.layer), std::to_string(layer.positional),
                                  std::to_string(layer.first_token), std::to_string(layer.semantic),
                                  PeakInWords(layer.queries), PeakInWords(layer.keys),
                                  Percent(layer.high_norms), Percent(layer.high_logits)});
  }
  for (const std::string& sentence :
       {PositionalHeads(report.findings),
        BandInWords(report.findings, "queries", &LayerFinding::queries),
        BandInWords(report.findings, "keys", &LayerFinding::keys),
        CorrelationInWords(report.findings)}) {
    if (!sentence.empty()) section.sentences.push_back(sentence);
  }
  return section;
}

OutputSection AlignmentOf(const HeadAlignment& head) {
  OutputSection section;
  section.title = "Head " + std::to_string(head.layer) + ":" + std::to_string(head.head) +
                  ", token by token: how large a logit could be, and is";
  section.table.columns = {
      {"token", true}, {"bound", true}, {"of itself", true}, {"of the one before", true}};
  for (size_t t = 0; t < head.bounds.size(); ++t) {
    section.table.rows.push_back({std::to_string(t), Fixed(head.bounds[t], 2),
                                  Fixed(head.own[t], 2), Fixed(head.previous[t], 2)});
  }
  return section;
}

// The pairs that tell keys apart most, and all others together.
OutputSection PartsOf(const LogitParts& parts, const Rotation& rotation) {
  constexpr size_t kMost = 6;
  const size_t pairs = rotation.frequencies.size(), shown = std::min(kMost, pairs);
  std::vector<size_t> order(pairs);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parts.Spread(a) > parts.Spread(b); });
  OutputSection section;
  section.title = "Head " + std::to_string(parts.layer) + ":" + std::to_string(parts.head) +
                  ", where its logits come from: means over its first " +
                  std::to_string(parts.tokens) + " tokens from the third on";
  section.table.columns = {{"pair", true},
                           {"of the first token", true},
                           {"of itself", true},
                           {"of the one before", true},
                           {"of the others", true}};
  const auto add = [&](const std::string& name, size_t from, size_t to) {
    section.table.rows.push_back({name});
    for (const std::vector<double>& means : parts.means) {
      double sum = 0;
      for (size_t i = from; i < to; ++i) sum += means[order[i]];
      section.table.rows.back().push_back(Fixed(sum, 2));
    }
  };
  for (size_t i = 0; i < shown; ++i) {
    add(std::to_string(order[i]) + " (" + Wavelength(rotation.frequencies[order[i]]) + ")", i,
        i + 1);
  }
  if (shown < pairs) add("the other " + std::to_string(pairs - shown), shown, pairs);
  add("all", 0, pairs);
  return section;
}

QueryValue Cell(double value) { return std::isfinite(value) ? QueryValue(value) : QueryValue(); }

QueryTable HeadRows(const Findings& findings) {
  QueryTable table;
  table.columns = {"layer", "head",    "kind",     "diagonal",   "previous",
                   "first", "entropy", "distance", "high_norms", "high_logits"};
  for (const HeadFinding& head : findings.heads) {
    const HeadScores& scores = head.scores;
    table.rows.push_back({int64_t{scores.layer}, int64_t{scores.head}, head.kind,
                          Cell(scores.diagonal), Cell(scores.previous), Cell(scores.first),
                          Cell(scores.entropy), Cell(scores.distance), Cell(head.high_norms),
                          Cell(head.high_logits)});
  }
  return table;
}

Json PeakJson(const Peak& peak) {
  if (peak.pair < 0) return Json();
  return {{"pair", peak.pair},
          {"angular_frequency", peak.frequency},
          {"wavelength", peak.frequency > 0 ? Json(2 * std::numbers::pi / peak.frequency) : Json()},
          {"ratio", peak.ratio}};
}

Json LayerJson(const LayerFinding& layer) {
  return {{"layer", layer.layer},
          {"positional", layer.positional},
          {"first_token", layer.first_token},
          {"semantic", layer.semantic},
          {"queries", PeakJson(layer.queries)},
          {"keys", PeakJson(layer.keys)},
          {"high_norms", layer.high_norms},
          {"high_logits", layer.high_logits}};
}

Json HeadJson(const HeadFinding& head) {
  const HeadScores& scores = head.scores;
  return {{"layer", scores.layer},
          {"head", scores.head},
          {"kind", head.kind},
          {"diagonal", scores.diagonal},
          {"previous", scores.previous},
          {"first", scores.first},
          {"entropy", scores.entropy},
          {"distance", scores.distance},
          {"high_norms", head.high_norms},
          {"high_logits", head.high_logits}};
}

// nlohmann-json writes what is not finite as null.
std::string RenderJson(const AnalysisReport& report) {
  const ForwardLosses& losses = report.analysis.losses;
  Json json = {
      {"name", report.name},       {"variant", report.variant},
      {"model", report.model},     {"text", report.text},
      {"context", report.context}, {"tokens", report.analysis.record.tokens},
      {"targets", losses.targets}, {"loss", losses.nats / static_cast<double>(losses.targets)}};
  json["correlations"] = {{"high_norms", report.findings.norms_correlation},
                          {"high_logits", report.findings.logits_correlation}};
  json["layers"] = Json::array();
  for (const LayerFinding& layer : report.findings.layers) {
    json["layers"].push_back(LayerJson(layer));
  }
  json["heads"] = Json::array();
  for (const HeadFinding& head : report.findings.heads) json["heads"].push_back(HeadJson(head));
  for (const HeadAlignment& head : report.analysis.alignments) {
    if (!report.heads.contains({head.layer, head.head})) continue;
    json["alignments"].push_back({{"layer", head.layer},
                                  {"head", head.head},
                                  {"bounds", head.bounds},
                                  {"own", head.own},
                                  {"previous", head.previous}});
  }
  for (const LogitParts& parts : report.analysis.parts) {
    Json item = {{"layer", parts.layer}, {"head", parts.head}, {"tokens", parts.tokens}};
    for (size_t kind = 0; kind < kKeyKinds; ++kind) {
      item[kKeyKindNames[kind]] = parts.means[kind];
    }
    json["logit_parts"].push_back(std::move(item));
  }
  for (const AttentionMap& map : report.analysis.record.attention_maps) {
    if (!report.heads.contains({map.layer, map.head})) continue;
    json["attention_maps"].push_back(
        {{"layer", map.layer}, {"head", map.head}, {"weights", map.weights}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string ModelInWords(const HuggingFaceConfig& config) {
  const ModelConfig& model = config.model;
  std::string words =
      config.family + ", " + std::to_string(model.num_hidden_layers) + " layers of " +
      std::to_string(model.hidden_size) + ", " + std::to_string(model.num_attention_heads) +
      " heads on " + std::to_string(model.num_key_value_heads) + " of " +
      std::to_string(model.head_dim) + ", vocabulary " + std::to_string(model.vocab_size);
  const PositionConfig position = SaidOnce(config).position;
  if (!position.layers.empty()) return words + ", encodings that differ by layer";
  const EncodingConfig& encoding = position.common;
  if (encoding.type != "rope") return words + (encoding.type == "nope" ? ", NoPE" : ", ALiBi");
  words += ", RoPE with theta " + FormatExact(encoding.theta);
  if (encoding.p != 1) words += " and p " + FormatExact(encoding.p);
  if (encoding.scaling.type != "none") words += ", " + encoding.scaling.type + " scaling";
  return words;
}

std::string RenderAnalysis(const AnalysisReport& report, OutputFormat format, int width) {
  if (format == OutputFormat::kJson) return RenderJson(report);
  if (format == OutputFormat::kCsv) return RenderCsv(HeadRows(report.findings));
  std::string text = RenderSection(LayersOf(report), format, width);
  for (const HeadAlignment& head : report.analysis.alignments) {
    if (!report.heads.contains({head.layer, head.head})) continue;
    text += "\n" + RenderSection(AlignmentOf(head), format, width);
  }
  for (const LogitParts& parts : report.analysis.parts) {
    const LayerPosition& position = report.analysis.positions[static_cast<size_t>(parts.layer)];
    text += "\n" + RenderSection(PartsOf(parts, position.rotation), format, width);
  }
  return text;
}

}  // namespace gyre
