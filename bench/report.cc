#include "bench/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"
#include "trainer/backend/cpu/cpu_backend.h"

namespace gyre {
namespace {

std::string Mark(const Spread& spread) { return spread.quiet ? "" : "!"; }

double TokensPerSecond(const CaseResult& result, double seconds) {
  return seconds > 0 ? static_cast<double>(result.bench_case.shape.tokens()) / seconds : 0;
}

double Median(const ContestantResult* one, StepTime time = StepTime::kSeconds) {
  return one == nullptr ? 0 : SpreadOf(one->samples, time).median;
}

/// "12345 (12301..12388)": median and quartiles.
std::string Speed(const CaseResult& result, const ContestantResult* one) {
  if (one == nullptr || one->samples.empty()) return "";
  const Spread spread = SpreadOf(one->samples);
  return fmt::format("{:.0f}{} ({:.0f}..{:.0f})", TokensPerSecond(result, spread.median),
                     Mark(spread), TokensPerSecond(result, spread.high),
                     TokensPerSecond(result, spread.low));
}

std::string Percent(double part, double whole) {
  return part > 0 && whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

std::string Times(double part, double whole) {
  return part > 0 && whole > 0 ? fmt::format("{:.2f}", part / whole) : "";
}

std::string Memory(const ContestantResult* one) {
  if (one == nullptr) return "";
  return fmt::format("{:.0f} MB", 1e-6 * static_cast<double>(one->peak_memory));
}

std::string Start(const ContestantResult* one) {
  if (one == nullptr) return "";
  std::string text = fmt::format("{:.2f} s", SpreadOf(one->starts).median);
  if (!one->job_starts.empty()) {
    text += fmt::format(" (a job {:.2f} s)", SpreadOf(one->job_starts).median);
  }
  return text;
}

std::string ContestantText(const CaseResult& result, const ContestantResult& one) {
  if (!one.absent.empty()) return fmt::format("  {:<8} absent: {}\n", one.name, one.absent);
  const Spread wall = SpreadOf(one.samples);
  const Spread processor = SpreadOf(one.samples, StepTime::kProcessor);
  const auto quiet = std::count_if(one.samples.begin(), one.samples.end(),
                                   [](const StepSample& sample) { return sample.quiet; });
  std::string text = fmt::format(
      "  {:<8} {:>7.0f} tokens/s{}  {:.2f} ms a step ({:.2f}..{:.2f}), {:.2f} ms of processor "
      "time, {:.0f} GFLOP/s; {} of {} samples quiet\n",
      one.name, TokensPerSecond(result, wall.median), Mark(wall), 1e3 * wall.median, 1e3 * wall.low,
      1e3 * wall.high, 1e3 * processor.median,
      1e-9 * result.bench_case.FlopsPerToken() * TokensPerSecond(result, wall.median), quiet,
      one.samples.size());
  if (one.name == "limit") {
    const Spread causal = SpreadOf(one.samples, StepTime::kCausal);
    text += fmt::format("           {:>7.0f} tokens/s{}  with the causal half of attention alone\n",
                        TokensPerSecond(result, causal.median), Mark(causal));
  } else {
    text += fmt::format(
        "           peak memory {}; {} to the first step, which took {:.0f} ms; loss {:.3f}, after "
        "{} steps {:.3f}\n",
        Memory(&one), Start(&one), 1e3 * one.first_step, one.first_loss, one.steps, one.last_loss);
  }
  if (one.about.contains("note"))
    text += "           " + one.about["note"].get<std::string>() + "\n";
  return text;
}

}  // namespace

std::string MachineLine() {
  return fmt::format("{}, {} cores, {:.0f} GiB; {}; {}", ProcessorModel(), UsableCores(),
                     static_cast<double>(MemoryBytes()) / (1 << 30), CpuInstructionSet(),
                     CpuLibraries());
}

std::string CaseText(const CaseResult& result) {
  const BenchShape& shape = result.bench_case.shape;
  std::string text = fmt::format(
      "{}, {} threads: {} layers x {}, intermediate {}, {} heads, vocabulary {}, {} x {} tokens, "
      "{:.1f} MFLOP a token\n",
      result.bench_case.Name(), result.bench_case.threads, shape.layers, shape.hidden,
      shape.intermediate, shape.heads, shape.vocab, shape.rows, shape.context,
      1e-6 * result.bench_case.FlopsPerToken());
  for (const ContestantResult& one : result.contestants) text += ContestantText(result, one);
  const double gyre = Median(result.Find("gyre"));
  const ContestantResult* limit = result.Find("limit");
  const std::string of_limit = Percent(Median(limit), gyre);
  const std::string of_causal = Percent(Median(limit, StepTime::kCausal), gyre);
  const std::string to_pytorch = Times(Median(result.Find("pytorch")), gyre);
  if (!of_limit.empty()) {
    text += "  gyre reaches " + of_limit + " of the limit, " + of_causal + " of the causal one\n";
  }
  if (!to_pytorch.empty()) text += "  gyre is " + to_pytorch + " times as fast as pytorch\n";
  const bool loud = std::any_of(result.contestants.begin(), result.contestants.end(),
                                [](const ContestantResult& one) {
                                  return one.absent.empty() && !SpreadOf(one.samples).quiet;
                                });
  if (loud) text += "  !: no sample was quiet; these numbers say little\n";
  for (const std::string& fault : result.faults) text += "  FAULT: " + fault + "\n";
  return text;
}

std::string MarkdownTable(const std::vector<CaseResult>& results) {
  std::string text =
      "| case | Gyre, tokens/s | limit | Gyre / limit | causal limit | Gyre / causal | PyTorch | "
      "Gyre / PyTorch | memory: Gyre, PyTorch | first step after: Gyre, PyTorch |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const CaseResult& result : results) {
    const ContestantResult* gyre = result.Find("gyre");
    const ContestantResult* limit = result.Find("limit");
    const ContestantResult* pytorch = result.Find("pytorch");
    const double seconds = Median(gyre), causal = Median(limit, StepTime::kCausal);
    text += fmt::format(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", result.bench_case.Name(),
        Speed(result, gyre), Speed(result, limit), Percent(Median(limit), seconds),
        causal > 0 ? fmt::format("{:.0f}", TokensPerSecond(result, causal)) : "",
        Percent(causal, seconds), Speed(result, pytorch), Times(Median(pytorch), seconds),
        Memory(gyre) + (pytorch == nullptr ? "" : ", " + Memory(pytorch)),
        Start(gyre) + (pytorch == nullptr ? "" : ", " + Start(pytorch)));
  }
  return text;
}

Json ResultsJson(const std::vector<CaseResult>& results) {
  Json cases = Json::array();
  for (const CaseResult& result : results) {
    const BenchCase& bench_case = result.bench_case;
    Json contestants = Json::object();
    for (const ContestantResult& one : result.contestants) {
      Json samples = Json::array();
      for (const StepSample& sample : one.samples) {
        samples.push_back({{"seconds", sample.seconds},
                           {"causal_seconds", sample.causal},
                           {"processor", sample.processor},
                           {"foreign", sample.foreign},
                           {"quiet", sample.quiet}});
      }
      contestants[one.name] = {{"absent", one.absent},
                               {"about", one.about},
                               {"samples", samples},
                               {"median_seconds", Median(&one)},
                               {"quiet", SpreadOf(one.samples).quiet},
                               {"start_seconds", one.starts},
                               {"job_start_seconds", one.job_starts},
                               {"first_step_seconds", one.first_step},
                               {"first_loss", one.first_loss},
                               {"last_loss", one.last_loss},
                               {"steps", one.steps},
                               {"peak_memory_bytes", one.peak_memory}};
    }
    cases.push_back({{"shape", bench_case.shape.name},
                     {"family", bench_case.family},
                     {"precision", bench_case.precision},
                     {"backend", bench_case.backend},
                     {"threads", bench_case.threads},
                     {"tokens", bench_case.shape.tokens()},
                     {"flops_per_token", bench_case.FlopsPerToken()},
                     {"contestants", contestants},
                     {"faults", result.faults}});
  }
  return {{"machine", MachineLine()}, {"cases", cases}};
}

}  // namespace gyre
