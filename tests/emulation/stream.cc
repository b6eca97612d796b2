#include "tests/emulation/stream.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "tests/emulation/device.h"
#include "tests/emulation/error.h"
#include "tests/emulation/options.h"

struct CUstream_st {
  struct Work {
    std::function<void()> run;
    std::function<bool()> ready;
  };
  bool blocking = true;  // the default stream waits for it
  std::deque<Work> queue;
};

struct CUevent_st {
  struct Records {
    uint64_t asked = 0, done = 0;
  };
  std::shared_ptr<Records> records = std::make_shared<Records>();
};

namespace gyre::emulation {
namespace {

struct DeviceStreams {
  std::recursive_mutex mutex;  // held while work is done, which may submit more
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::mt19937_64 random{TheOptions().seed};
};

DeviceStreams& Here() {
  static std::mutex mutex;
  static auto* const devices = new std::map<int, DeviceStreams>;
  const std::lock_guard lock(mutex);
  return (*devices)[CurrentDevice()];
}

bool IsDefault(cudaStream_t stream) {
  return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

/// Does work of any stream of the device until `enough`.
void WorkUntil(const std::function<bool()>& enough) {
  DeviceStreams& here = Here();
  const std::lock_guard lock(here.mutex);
  while (!enough()) {
    std::vector<CUstream_st*> able;
    for (const auto& stream : here.streams) {
      if (stream->queue.empty()) continue;
      const auto& ready = stream->queue.front().ready;
      if (!ready || ready()) able.push_back(stream.get());
    }
    if (able.empty()) Fail("streams wait for each other");
    CUstream_st* stream = able[here.random() % able.size()];
    const CUstream_st::Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    work.run();
  }
}

bool AllDone(bool also_non_blocking) {
  const auto& streams = Here().streams;
  return std::all_of(streams.begin(), streams.end(), [&](const auto& stream) {
    return stream->queue.empty() || !(stream->blocking || also_non_blocking);
  });
}

}  // namespace

void Submit(cudaStream_t stream, std::function<void()> work, std::function<bool()> ready) {
  DeviceStreams& here = Here();
  const std::lock_guard lock(here.mutex);
  if (!TheOptions().lazy) {
    work();
  } else if (IsDefault(stream)) {
    FinishStream(nullptr);
    work();
  } else {
    stream->queue.push_back({std::move(work), std::move(ready)});
  }
}

void FinishStream(cudaStream_t stream) {
  if (IsDefault(stream)) {
    WorkUntil([] { return AllDone(false); });
  } else {
    WorkUntil([stream] { return stream->queue.empty(); });
  }
}

void FinishDevice() {
  WorkUntil([] { return AllDone(true); });
}

}  // namespace gyre::emulation

using namespace gyre::emulation;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  DeviceStreams& here = Here();
  const std::lock_guard lock(here.mutex);
  here.streams.push_back(std::make_unique<CUstream_st>());
  *stream = here.streams.back().get();
  (*stream)->blocking = (flags & cudaStreamNonBlocking) == 0;
  return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  FinishStream(stream);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  FinishDevice();
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  FinishStream(stream);
  DeviceStreams& here = Here();
  const std::lock_guard lock(here.mutex);
  std::erase_if(here.streams, [stream](const auto& each) { return each.get() == stream; });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto records = event->records;
  const uint64_t number = ++records->asked;
  Submit(stream, [records, number] { records->done = number; });
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const auto records = event->records;
  const uint64_t number = records->asked;
  Submit(
      stream, [] {}, [records, number] { return records->done >= number; });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const auto records = event->records;
  const uint64_t number = records->asked;
  WorkUntil([records, number] { return records->done >= number; });
  return cudaSuccess;
}

}  // extern "C"
