// The sweep language: every text is a sweep or has faults that can be shown.

#include "sweeps/spec/sweep_spec.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  gyre::SpecOptions options;
  options.folder = "/sweeps";
  options.max_jobs = 500;
  const gyre::ParsedSweeps parsed = gyre::ParseSweeps(text, options);
  gyre::Require(parsed.sweeps.empty() != parsed.diagnostics.empty(), "sweeps or faults");
  for (const gyre::Diagnostic& diagnostic : parsed.diagnostics) {
    gyre::Require(!gyre::FormatDiagnostic(diagnostic).empty(), "a fault can be shown");
  }
  for (const gyre::SweepSpec& sweep : parsed.sweeps) {
    gyre::Require(static_cast<int64_t>(sweep.jobs.size()) <= options.max_jobs, "--max-jobs");
    gyre::Require(sweep.baselines.size() == sweep.variants.size(), "a baseline for each variant");
  }
  return 0;
}
