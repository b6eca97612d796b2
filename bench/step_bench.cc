// gyre-step-bench: training steps on random tokens, beside the matrix products alone and PyTorch.
// docs/performance.md says what is measured and how.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "base/files.h"
#include "base/log.h"
#include "base/machine.h"
#include "bench/comparison.h"
#include "bench/gpu_report.h"
#include "bench/gyre_steps.h"
#include "bench/limit_steps.h"
#include "bench/report.h"
#include "bench/step_server.h"

namespace gyre {
namespace {

struct BenchFlags {
  std::vector<std::string> shapes = {"quick", "S", "M", "long"};
  std::vector<std::string> families = {"gpt", "llama", "gemma"};
  std::vector<std::string> precisions = {"float32", "bf16"};
  int threads = 1;
  std::string backend = "cpu";
  double stop_after = 1e9;
  ComparisonOptions comparison;
  bool no_gate = false, markdown = false;
  std::string json, part;
  int steps = 8;
};

void AddCaseFlags(CLI::App* app, BenchFlags* flags) {
  app->add_option("--shape", flags->shapes, "quick, S, M, long or tiny")->capture_default_str();
  app->add_option("--family", flags->families, "gpt, llama, gemma")->capture_default_str();
  app->add_option("--precision", flags->precisions, "float32, bf16")->capture_default_str();
  app->add_option("--threads", flags->threads, "of each contestant")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void AddGpuFlags(CLI::App* app, BenchFlags* flags) {
  ComparisonOptions& options = flags->comparison;
  app->option_defaults()->always_capture_default();
  app->add_option("--shape", flags->shapes, "124M, 124M-8k, 1B, 1B-8k, or one for processors");
  app->add_option("--family", flags->families, "of a shape for processors: gpt, llama, gemma");
  app->add_option("--precision", flags->precisions, "float32, tf32, bf16");
  app->add_option("--backend", flags->backend, "cuda, cuda:N, or cpu to see that all of this runs");
  app->add_option("--only", options.names, "gyre, pytorch")
      ->check(CLI::IsMember({"gyre", "pytorch"}));
  app->add_option("--samples", options.samples, "of each")->check(CLI::Range(1, 10000));
  app->add_option("--sample-seconds", options.sample_seconds, "a sample lasts about so long")
      ->check(CLI::Range(0.0, 60.0));
  app->add_option("--stop-after", flags->stop_after, "no case begins after so many seconds");
  app->add_option("--python", options.python, "the first of these that has torch runs PyTorch");
  app->add_option("--json", flags->json, "write everything that was measured to this file");
  app->footer("example: gyre-step-bench gpu --shape 124M --json gpu.json\n");
}

// What `gpu` measures if it isn't told.
BenchFlags GpuDefaults() {
  BenchFlags flags;
  flags.shapes = {"124M", "124M-8k", "1B", "1B-8k"};
  flags.precisions = {"bf16"};
  flags.backend = "cuda";
  flags.threads = std::min(16, UsableCores());  // that make the first weights
  flags.no_gate = true;
  flags.comparison.names = {"gyre", "pytorch"};
  flags.comparison.samples = 7;
  flags.comparison.starts = 1;
  flags.comparison.jobs = false;
  flags.comparison.sample_seconds = 1;
  return flags;
}

void AddFlags(CLI::App* app, BenchFlags* flags) {
  ComparisonOptions& options = flags->comparison;
  AddCaseFlags(app, flags);
  app->add_option("--only", options.names, "gyre, limit, pytorch")
      ->check(CLI::IsMember({"gyre", "limit", "pytorch"}))
      ->capture_default_str();
  app->add_option("--samples", options.samples, "quiet samples of each")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app->add_option("--sample-seconds", options.sample_seconds, "a sample lasts about so long")
      ->check(CLI::Range(0.0, 60.0))
      ->capture_default_str();
  app->add_option("--starts", options.starts, "how often each is started")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--give-up", options.give_up_seconds,
                  "seconds that a case waits for a quiet machine; then it measures on a loud one, "
                  "and marks what it measured")
      ->capture_default_str();
  app->add_flag("--no-gate", flags->no_gate, "wait for nothing; no sample counts as quiet");
  app->add_option("--python", options.python, "the first of these that has torch runs PyTorch")
      ->capture_default_str();
  app->add_option("--json", flags->json, "write everything that was measured to this file");
  app->add_flag("--markdown", flags->markdown, "print the table of docs/performance.md");
  app->footer("example: gyre-step-bench --shape S --family llama --threads 2 --markdown\n");
}

Result<std::vector<BenchCase>> Cases(const BenchFlags& flags) {
  std::vector<BenchCase> cases;
  for (const std::string& shape : flags.shapes) {
    for (const std::string& family : flags.families) {
      for (const std::string& precision : flags.precisions) {
        GYRE_ASSIGN_OR_RETURN(BenchCase found,
                              FindBenchCase(shape, family, precision, flags.threads));
        if (!found.shape.family.empty() && found.shape.family != family) continue;
        found.backend = flags.backend;
        cases.push_back(std::move(found));
      }
    }
  }
  return cases;
}

using CaseReport = std::string (*)(const CaseResult&);

/// Every case; the error is what was wrong last, and the other cases are measured all the same.
Status RunCases(BenchFlags flags, CaseReport report, std::vector<CaseResult>* results) {
  std::error_code error;
  flags.comparison.gate = !flags.no_gate;
  flags.comparison.program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  GYRE_ASSIGN_OR_RETURN(const auto cases, Cases(flags));
  Status status = OkStatus();
  const double started = WallSeconds();
  for (const BenchCase& bench_case : cases) {
    Result<CaseResult> result =
        WallSeconds() - started < flags.stop_after
            ? Compare(bench_case, flags.comparison)
            : DeadlineExceeded("not measured: it would begin after --stop-after");
    if (!result.ok()) {
      status = result.status().WithContext(bench_case.Name());
      std::cout << status << std::endl;
      continue;
    }
    std::cout << report(*result) << std::endl;
    if (!result->faults.empty()) status = Internal(bench_case.Name() + ": see FAULT above");
    results->push_back(*std::move(result));
    if (flags.json.empty()) continue;
    GYRE_RETURN_IF_ERROR(WriteFileAtomically(flags.json, ResultsJson(*results).dump(1) + "\n"));
  }
  return status;
}

Status RunComparison(const BenchFlags& flags) {
  std::cout << MachineLine() << std::endl;
  std::vector<CaseResult> results;
  const Status status = RunCases(flags, CaseText, &results);
  if (flags.markdown) std::cout << MarkdownTable(results);
  return status;
}

Status RunOnGpu(const BenchFlags& flags) {
  std::vector<CaseResult> results;
  const Status status = RunCases(flags, GpuCaseText, &results);
  if (!results.empty()) std::cout << GpuTable(results);
  return status;
}

Status RunProfile(const BenchFlags& flags) {
  GYRE_ASSIGN_OR_RETURN(const auto cases, Cases(flags));
  for (const BenchCase& bench_case : cases) {
    GYRE_RETURN_IF_ERROR(PrintProfile(bench_case, flags.steps));
  }
  return OkStatus();
}

/// The exit code of a contestant: flags name one case.
int TakePart(const BenchFlags& flags) {
  const auto cases = Cases(flags);
  if (!cases.ok()) return std::cerr << cases.status() << "\n", 2;
  return flags.part == "gyre" ? ServeGyreSteps(cases->front()) : ServeLimitSteps(cases->front());
}

int Main(int argc, char** argv) {
  SetLogLevel(LogLevel::kWarning);
  BenchFlags flags, gpu_flags = GpuDefaults();
  CLI::App app("Training steps on random tokens: Gyre, its matrix products alone, and PyTorch");
  AddFlags(&app, &flags);
  CLI::App* gpu = app.add_subcommand("gpu", "training steps on a GPU, beside PyTorch there");
  AddGpuFlags(gpu, &gpu_flags);
  CLI::App* profile = app.add_subcommand("profile", "one step of Gyre by part, the best of some");
  AddCaseFlags(profile, &flags);
  profile->add_option("--steps", flags.steps, "the best of so many")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  profile->footer("example: gyre-step-bench profile --shape S --family llama --threads 2\n");
  CLI::App* part = app.add_subcommand("take-part", "")->group("");  // for this program's own use
  part->add_option("part", flags.part)->required()->check(CLI::IsMember({"gyre", "limit"}));
  AddCaseFlags(part, &flags);
  part->add_option("--backend", flags.backend, "");
  CLI11_PARSE(app, argc, argv);
  if (part->parsed()) return TakePart(flags);
  const Status status = gpu->parsed()       ? RunOnGpu(gpu_flags)
                        : profile->parsed() ? RunProfile(flags)
                                            : RunComparison(flags);
  if (!status.ok()) std::cerr << "gyre-step-bench: " << status << "\n";
  return status.ok() ? 0 : status.code() == StatusCode::kInvalidArgument ? 2 : 1;
}

}  // namespace
}  // namespace gyre

int main(int argc, char** argv) { return gyre::Main(argc, argv); }
