#pragma once

// What the tests of the sweep language share: parsing text, showing what came out, comparing it
// with a golden file.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "sweeps/spec/sweep_spec.h"

namespace gyre {

inline SpecOptions TestOptions(const std::string& file = "sweep.yaml") {
  SpecOptions options;
  options.file = file;
  options.folder = "/sweeps";
  options.dataset_hashes = [](const std::string&) {
    return std::optional<std::string>("0123456789abcdef");
  };
  return options;
}

inline ParsedSweeps Parse(const std::string& text) { return ParseSweeps(text, TestOptions()); }

inline std::string Diagnostics(const ParsedSweeps& parsed) {
  std::string text;
  for (const Diagnostic& diagnostic : parsed.diagnostics) text += FormatDiagnostic(diagnostic);
  return text;
}

/// The one sweep of a text that must be right.
inline SweepSpec ParseOne(const std::string& text) {
  ParsedSweeps parsed = Parse(text);
  EXPECT_EQ(Diagnostics(parsed), "");
  EXPECT_EQ(parsed.sweeps.size(), 1u);
  return parsed.sweeps.empty() ? SweepSpec() : std::move(parsed.sweeps.front());
}

inline int UniqueJobs(const SweepSpec& sweep) {
  int jobs = 0;
  for (const Job& job : sweep.jobs) jobs += !job.twin_of;
  return jobs;
}

inline int UniqueJobs(const ParsedSweeps& parsed) {
  int jobs = 0;
  for (const SweepSpec& sweep : parsed.sweeps) jobs += UniqueJobs(sweep);
  return jobs;
}

/// Diagnostics, or per sweep its variants with what differs from the first, jobs and notes.
inline std::string Describe(const ParsedSweeps& parsed) {
  std::string text = Diagnostics(parsed);
  for (const SweepSpec& sweep : parsed.sweeps) {
    text += "sweep " + sweep.name + "\n";
    if (!sweep.description.empty()) text += "  description: " + sweep.description + "\n";
    for (size_t i = 0; i < sweep.variants.size(); ++i) {
      text += "  variant " + sweep.variants[i].name + "\n";
      const Json config = ToJson(sweep.variants[i].config);
      if (i == 0) text += config.dump(2) + "\n";
      if (i > 0)
        text += "    " + Json::diff(ToJson(sweep.variants[0].config), config).dump() + "\n";
    }
    for (const Job& job : sweep.jobs) {
      text += "  job " + sweep.variants[job.variant].name + " seed " + std::to_string(job.seed) +
              (job.twin_of ? " = job " + std::to_string(*job.twin_of) : "") + "\n";
    }
    for (const std::string& note : sweep.notes) text += "  note: " + note + "\n";
  }
  return text;
}

inline void CompareWithGolden(const std::filesystem::path& path, const std::string& text) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(WriteFileAtomically(path, text).ok());
    return;
  }
  const auto golden = ReadFile(path);
  ASSERT_TRUE(golden.ok()) << golden.status() << "\nUPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(text, *golden) << "UPDATE_GOLDEN=1 rewrites " << path;
}

}  // namespace gyre
