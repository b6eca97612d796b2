#pragma once

// A sweep's file from the disk to what a coordinator gets: read, checked, its data prepared.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "sweeps/spec/sweep_spec.h"
#include "trainer/data/dataset.h"

namespace gyre {

struct SweepFile {
  std::string yaml;
  std::string file;    // as given, for messages
  std::string folder;  // absolute
  std::map<std::string, std::string> extended;  // texts of the files it extends, by absolute path
  std::vector<SweepSpec> sweeps;
};

/// How the file at `path` is read on this machine; without hashes of data sets.
SpecOptions SpecOptionsFor(const std::string& path, int64_t max_jobs);

/// Reads and checks a whole file. INVALID_ARGUMENT: it cannot be read, or has faults; the message
/// has all of them.
Result<SweepFile> LoadSweepFile(const std::string& path, int64_t max_jobs);

/// Makes every data set that the sweeps need and that is not there yet; by DatasetRequest::Key().
/// Says on stderr what it does. INVALID_ARGUMENT: a validation set is shorter than a context; else
/// as PrepareDataset() has it.
Result<std::map<std::string, DatasetInfo>> PrepareDatasets(const std::filesystem::path& home,
                                                           const std::vector<SweepSpec>& sweeps);

}  // namespace gyre
