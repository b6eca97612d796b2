#pragma once

// Streams. Work is done when it is submitted, or, with the option `lazy`, when somebody waits for
// it and no sooner, the streams of a device in random order: so a wait that is missing shows.

#include <cuda_runtime.h>

#include <functional>

namespace gyre::emulation {

/// `ready`: what the stream waits for before.
void Submit(cudaStream_t stream, std::function<void()> work, std::function<bool()> ready = {});
/// Until everything in the stream is done, or in all streams of the current device.
void FinishStream(cudaStream_t stream);
void FinishDevice();

}  // namespace gyre::emulation
