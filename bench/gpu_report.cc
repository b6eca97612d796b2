#include "bench/gpu_report.h"

#include <fmt/format.h>

#include "bench/bench_device.h"

namespace gyre {
namespace {

double TokensPerSecond(const CaseResult& result, double seconds) {
  return seconds > 0 ? static_cast<double>(result.bench_case.shape.tokens()) / seconds : 0;
}

double Speed(const CaseResult& result, const ContestantResult& one) {
  return TokensPerSecond(result, SpreadOf(one.samples).median);
}

/// "51.3 %"; empty where the device's peak is not known.
std::string Mfu(const CaseResult& result, const ContestantResult& one) {
  const auto device = one.about.find("device");
  if (device == one.about.end() || !device->is_string()) return "";
  const double peak = PeakOfDevice(device->get<std::string>(), result.bench_case.precision);
  if (peak <= 0) return "";
  const double used = Speed(result, one) * result.bench_case.FlopsPerToken();
  return fmt::format("{:.1f} %", 100 * used / peak);
}

std::string Memory(const ContestantResult& one) {
  const double bytes = NumberIn(one.about, "device_memory");
  return bytes > 0 ? fmt::format("{:.1f} GiB", bytes / (1 << 30)) : "";
}

/// Tokens a second with quartiles, MFU and memory, or why there are none.
std::string Cells(const CaseResult& result, const std::string& name) {
  for (const ContestantResult& one : result.contestants) {
    if (one.name != name) continue;
    if (!one.absent.empty()) return "absent: " + one.absent + " |  | ";
    const Spread spread = SpreadOf(one.samples);
    return fmt::format("{:.0f} ({:.0f}..{:.0f}) | {} | {}", TokensPerSecond(result, spread.median),
                       TokensPerSecond(result, spread.high), TokensPerSecond(result, spread.low),
                       Mfu(result, one), Memory(one));
  }
  return " |  | ";
}

std::string ContestantText(const CaseResult& result, const ContestantResult& one) {
  if (!one.absent.empty()) return fmt::format("  {:<8} absent: {}\n", one.name, one.absent);
  const Spread spread = SpreadOf(one.samples);
  const std::string mfu = Mfu(result, one), memory = Memory(one);
  return fmt::format(
             "  {:<8} {:>8.0f} tokens/s, {:.2f} ms a step ({:.2f}..{:.2f}), {:.1f} TFLOP/s{}{}\n"
             "           {:.1f} s to be warm; loss {:.3f}, after {} more steps {:.3f}\n",
             one.name, TokensPerSecond(result, spread.median), 1e3 * spread.median,
             1e3 * spread.low, 1e3 * spread.high,
             1e-12 * Speed(result, one) * result.bench_case.FlopsPerToken(),
             mfu.empty() ? "" : ", MFU " + mfu, memory.empty() ? "" : ", " + memory + " of the GPU",
             SpreadOf(one.starts).median, one.first_loss, one.steps, one.last_loss) +
         (one.about.contains("note") ? "           " + one.about["note"].get<std::string>() + "\n"
                                     : "");
}

}  // namespace

std::string GpuCaseText(const CaseResult& result) {
  const BenchCase& bench_case = result.bench_case;
  const BenchShape& shape = bench_case.shape;
  const ModelConfig model = bench_case.Model();
  std::string text = fmt::format(
      "{} on {}: {} layers x {}, intermediate {}, {} heads of {} ({} for keys and values), "
      "vocabulary {}, {} x {} tokens, {:.1f} MFLOP a token\n",
      bench_case.Name(), bench_case.backend, shape.layers, shape.hidden, shape.intermediate,
      shape.heads, model.head_dim, model.num_key_value_heads, shape.vocab, shape.rows,
      shape.context, 1e-6 * bench_case.FlopsPerToken());
  for (const ContestantResult& one : result.contestants) text += ContestantText(result, one);
  for (const std::string& fault : result.faults) text += "  FAULT: " + fault + "\n";
  return text;
}

std::string GpuTable(const std::vector<CaseResult>& results) {
  std::string text =
      "| case | context x rows | Gyre, tokens/s | MFU | memory | PyTorch, tokens/s | MFU | memory "
      "| Gyre / PyTorch |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const CaseResult& result : results) {
    const ContestantResult* gyre = result.Find("gyre");
    const ContestantResult* pytorch = result.Find("pytorch");
    const bool both = gyre != nullptr && pytorch != nullptr && Speed(result, *pytorch) > 0;
    text += fmt::format(
        "| {} | {} x {} | {} | {} | {} |\n", result.bench_case.Name(),
        result.bench_case.shape.context, result.bench_case.shape.rows, Cells(result, "gyre"),
        Cells(result, "pytorch"),
        both ? fmt::format("{:.2f}", Speed(result, *gyre) / Speed(result, *pytorch)) : "");
  }
  return text;
}

}  // namespace gyre
