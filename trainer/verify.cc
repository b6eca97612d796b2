#include "trainer/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "trainer/backend/create_backend.h"
#include "trainer/position/rotation.h"
#include "trainer/verification.h"

namespace gyre {
namespace {

constexpr char kAbsent[] = "not in expected.json";

void CompareFrequencies(const std::vector<LayerPosition>& layers, const ExpectedPosition& expected,
                        Deviation* inv_freq) {
  if (!SameLength(layers.size(), expected.inv_freq->size(), "layers", inv_freq)) return;
  for (size_t l = 0; l < layers.size(); ++l) {
    const std::vector<double>& got = layers[l].rotation.frequencies;
    const std::vector<double>& want = (*expected.inv_freq)[l];
    if (!SameLength(got.size(), want.size(), At("layer", l), inv_freq)) continue;
    for (size_t k = 0; k < got.size(); ++k) {
      inv_freq->Compare(got[k], want[k], want[k], At(At("inv_freq", l), k));
    }
  }
}

void CompareSlopes(const std::vector<LayerPosition>& layers, const std::vector<double>& expected,
                   Deviation* slopes) {
  bool any = false;
  for (size_t l = 0; l < layers.size(); ++l) {
    const std::vector<double>& got = layers[l].alibi_slopes;
    if (got.empty()) continue;
    any = true;
    if (!SameLength(got.size(), expected.size(), At("layer", l), slopes)) continue;
    for (size_t h = 0; h < got.size(); ++h) {
      slopes->Compare(got[h], expected[h], expected[h], At("alibi_slopes", h));
    }
  }
  if (!any) SameLength(0, expected.size(), "no layer has ALiBi", slopes);
  slopes->Compare(0, 0, 1, "");  // agreeing on none is agreement
}

}  // namespace

std::string At(const std::string& name, size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

bool SameLength(size_t got, size_t want, const std::string& where, Deviation* deviation) {
  if (got == want) return true;
  deviation->Mismatch(where + ": " + std::to_string(got) + " entries, expected " +
                      std::to_string(want));
  return false;
}

bool VerifyReport::holds() const {
  return std::all_of(quantities.begin(), quantities.end(),
                     [](const VerifiedQuantity& quantity) { return quantity.holds(); });
}

void Verification::Add(const Deviation& deviation) {
  if (deviation.compared()) {
    report_.quantities.push_back(deviation.Take());
  } else {
    Skip(deviation.Take().name, kAbsent);
  }
}

void Verification::Skip(const std::string& name, const std::string& why) {
  report_.quantities.push_back({.name = name, .checked = false, .where = why});
}

Result<std::unique_ptr<Model>> Verification::CreateModel(bool training) const {
  const Batch& batch = *expected_.batch;
  return ModelOf(folder_, backend_, batch.rows, batch.length, training);
}

Status Verification::CheckPosition() {
  const ExpectedPosition expected = expected_.position.value_or(ExpectedPosition());
  const PositionConfig& config = folder_.config.position;
  const int length = expected_.batch ? expected_.batch->length : 1;
  GYRE_ASSIGN_OR_RETURN(const auto layers, ResolvePositions(config, folder_.config.model, length));
  Deviation inv_freq("position.inv_freq", 1e-6), factor("position.attention_factor", 1e-6);
  Deviation pairs("position.pairs", 0), slopes("position.alibi_slopes", 1e-6);
  std::vector<EncodingConfig> encodings = config.layers;
  encodings.push_back(config.common);
  const bool by_length = std::any_of(encodings.begin(), encodings.end(), [](const auto& encoding) {
    return encoding.type == "rope" && encoding.scaling.type == "dynamic";
  });
  const bool needs_batch = by_length && !expected_.batch && expected.inv_freq.has_value();
  if (expected.inv_freq && !needs_batch) CompareFrequencies(layers, expected, &inv_freq);
  if (expected.attention_factor &&
      SameLength(layers.size(), expected.attention_factor->size(), "layers", &factor)) {
    for (size_t l = 0; l < layers.size(); ++l) {
      const double want = (*expected.attention_factor)[l];
      factor.Compare(layers[l].rotation.attention_factor, want, want, At("attention_factor", l));
    }
  }
  // The format has one list; where layers differ, it is that of the first.
  const auto& got_pairs = layers[0].rotation.pairs;
  if (expected.pairs && SameLength(got_pairs.size(), expected.pairs->size(), "layer 0", &pairs)) {
    for (size_t k = 0; k < got_pairs.size(); ++k) {
      pairs.Compare(got_pairs[k].first, (*expected.pairs)[k].first, 1, At(At("pairs", k), 0));
      pairs.Compare(got_pairs[k].second, (*expected.pairs)[k].second, 1, At(At("pairs", k), 1));
    }
  }
  if (expected.alibi_slopes) CompareSlopes(layers, *expected.alibi_slopes, &slopes);
  if (needs_batch) {
    Skip("position.inv_freq", "needs the batch: dynamic scaling looks at its length");
  } else {
    Add(inv_freq);
  }
  Add(factor);
  Add(pairs);
  Add(slopes);
  return OkStatus();
}

Status Verification::CheckNll(Model* model) {
  Deviation count("target_count", 0), loss("loss", allowed_.loss), nll("nll", allowed_.nll);
  if (!has_targets()) {
    for (const char* name : {"target_count", "loss", "nll"}) Skip(name, "needs batch.targets");
    return OkStatus();
  }
  const Batch& batch = *expected_.batch;
  std::vector<float> got(batch.tokens.size());
  GYRE_RETURN_IF_ERROR(model->Evaluate(batch, got));
  double sum = 0;
  for (const float value : got) sum += value;
  const double targets = static_cast<double>(TargetCount(batch));
  if (expected_.target_count) {
    count.Compare(targets, static_cast<double>(*expected_.target_count), 1, "");
  }
  if (expected_.loss && targets > 0) loss.Compare(sum / targets, *expected_.loss, 1, "");
  if (expected_.nll &&
      SameLength(static_cast<size_t>(batch.rows), expected_.nll->size(), "rows", &nll)) {
    for (size_t b = 0; b < expected_.nll->size(); ++b) {
      const std::vector<double>& want = (*expected_.nll)[b];
      const size_t length = static_cast<size_t>(batch.length);
      if (!SameLength(length, want.size(), At("row", b), &nll)) continue;
      for (size_t t = 0; t < length; ++t) {
        nll.Compare(got[b * length + t], want[t], 1, At(At("nll", b), t));
      }
    }
  }
  Add(count);
  Add(loss);
  Add(nll);
  return OkStatus();
}

Status Verification::CheckTrace(Model* model) {
  Batch batch = *expected_.batch;
  batch.targets.resize(batch.tokens.size(), -1);
  std::vector<int> places;
  const std::vector<ExpectedLogits> logits =
      expected_.logits.value_or(std::vector<ExpectedLogits>());
  for (const ExpectedLogits& row : logits) {
    if (row.row < 0 || row.row >= batch.rows || row.place < 0 || row.place >= batch.length) {
      return InvalidArgument("expected.json: logits name a place that the batch does not have");
    }
    places.push_back(row.row * batch.length + row.place);
  }
  GYRE_ASSIGN_OR_RETURN(const ForwardTrace trace, model->Trace(batch, places));
  Deviation deviation("logits", allowed_.logits);
  Deviation residual("residual_norm", allowed_.residual_norm);
  for (size_t i = 0; i < logits.size(); ++i) {
    const std::vector<double>& want = logits[i].values;
    if (!SameLength(trace.logits[i].size(), want.size(), At("logits", i), &deviation)) continue;
    double largest = 0;
    for (const double value : want) largest = std::max(largest, std::abs(value));
    for (size_t v = 0; v < want.size(); ++v) {
      deviation.Compare(trace.logits[i][v], want[v], largest, At(At("logits", i), v));
    }
  }
  const std::vector<double> norms = expected_.residual_norm.value_or(std::vector<double>());
  if (expected_.residual_norm &&
      SameLength(trace.residual_norms.size(), norms.size(), "residual_norm", &residual)) {
    for (size_t i = 0; i < norms.size(); ++i) {
      residual.Compare(trace.residual_norms[i], norms[i], norms[i], At("residual_norm", i));
    }
  }
  Add(deviation);
  Add(residual);
  return OkStatus();
}

Status Verification::CheckForward() {
  if (!expected_.batch) {
    for (const char* name : {"target_count", "loss", "nll", "logits", "residual_norm"}) {
      Skip(name, "needs the batch");
    }
    return OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const auto model, CreateModel(/*training=*/false));
  GYRE_RETURN_IF_ERROR(CheckNll(model.get()));
  return CheckTrace(model.get());
}

Result<VerifyReport> Verification::Run() {
  GYRE_RETURN_IF_ERROR(CheckPosition());
  GYRE_RETURN_IF_ERROR(CheckForward());
  GYRE_RETURN_IF_ERROR(CheckGradient());
  GYRE_RETURN_IF_ERROR(CheckAccumulation());
  GYRE_RETURN_IF_ERROR(CheckAdamW());
  GYRE_RETURN_IF_ERROR(CheckStatistics());
  const auto checked = [](const VerifiedQuantity& quantity) { return quantity.checked; };
  if (std::none_of(report_.quantities.begin(), report_.quantities.end(), checked)) {
    return InvalidArgument("expected.json has no part that can be checked");
  }
  for (const std::string& part : expected_.unknown) Skip(part, "no part of the format");
  return report_;
}

Result<VerifyReport> VerifyFolder(const std::filesystem::path& folder,
                                  const VerifyOptions& options) {
  if (UsablePrecision(options.backend, options.precision) != options.precision) {
    return Unimplemented("the " + options.backend + " backend does not compute in " +
                         PrecisionName(options.precision) + " here; verify float32");
  }
  GYRE_ASSIGN_OR_RETURN(const auto backend,
                        CreateBackend(options.backend, options.threads, options.precision));
  GYRE_ASSIGN_OR_RETURN(const PretrainedFolder model, PretrainedFolder::Open(folder));
  GYRE_ASSIGN_OR_RETURN(const Expected expected, ReadExpected(folder / "expected.json"));
  auto report = Verification(model, expected, TolerancesOf(options.precision), backend.get()).Run();
  if (!report.ok()) return report.status().WithContext(folder.string());
  return report;
}

void Print(const VerifyReport& report, std::ostream& out) {
  for (const VerifiedQuantity& quantity : report.quantities) {
    char line[160];
    if (quantity.checked) {
      std::snprintf(line, sizeof line, "  %-6s%-40s%9.1e  of %-8.1e",
                    quantity.holds() ? "ok" : "FAIL", quantity.name.c_str(), quantity.deviation,
                    quantity.tolerance);
    } else {
      std::snprintf(line, sizeof line, "  %-6s%-40s", "skip", quantity.name.c_str());
    }
    std::string text = line;
    if (!quantity.where.empty()) text += "  " + quantity.where;
    text.erase(text.find_last_not_of(' ') + 1);
    out << text << "\n";
  }
}

}  // namespace gyre
