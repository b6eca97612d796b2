#pragma once

// The devices of a worker, by their names: "cpu", "cuda:N", and of an attempt one of these or
// several GPUs, "cuda:0,cuda:2". Pure.

#include <string>
#include <vector>

#include "coordinator/store/records.h"

namespace gyre {

/// Of one name, or of all of an attempt.
bool IsGpu(const std::string& devices);

/// Whether an attempt's devices contain one.
bool HasDevice(const std::string& devices, const std::string& device);

/// What an attempt gets of an offer: where a job that asks for no GPU would train, or the first
/// `gpus` of those that are free.
std::string DevicesFor(int gpus, const std::string& device,
                       const std::vector<std::string>& free_gpus);

/// Where jobs on that device have their memory: a GPU's own, or the machine's. 0 = not known.
int64_t MemoryOf(const WorkerRecord& worker, const std::string& device);

int GpusOf(const WorkerRecord& worker);

/// Of the largest GPU, 0 without one.
int64_t GpuMemoryOf(const WorkerRecord& worker);

}  // namespace gyre
