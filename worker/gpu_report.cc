#include "worker/gpu_report.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "worker/child_process.h"

namespace gyre {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxBytes = size_t{1} << 20;

std::string Text(const Json& json, const char* name) {
  const auto field = json.find(name);
  return field != json.end() && field->is_string() ? field->get<std::string>() : std::string();
}

int64_t Whole(const Json& json, const char* name) {
  const auto field = json.find(name);
  return field != json.end() && field->is_number_integer() ? field->get<int64_t>() : 0;
}

GpuReport NoAnswer(const std::string& why) { return {.absent = why, .answered = false}; }

std::string LastLine(std::string text) {
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.substr(text.rfind('\n') + 1);
}

// Both streams until both have ended. False: there was no time left.
bool ReadToEnd(const ChildProcess& child, Millis end, std::string* output, std::string* errors) {
  pollfd streams[] = {{child.output(), POLLIN, 0}, {child.errors(), POLLIN, 0}};
  std::string* const texts[] = {output, errors};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    const Millis left = std::max(Millis(0), end - Clock::Real().Now());
    const int ready = poll(streams, 2, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    for (int i = 0; i < 2; ++i) {
      if (streams[i].fd < 0 || streams[i].revents == 0) continue;
      char bytes[4096];
      const ssize_t got = read(streams[i].fd, bytes, sizeof bytes);
      if (got > 0 && texts[i]->size() < kMaxBytes) texts[i]->append(bytes, got);
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) streams[i].fd = -1;
    }
  }
  return true;
}

}  // namespace

Result<GpuReport> ParseGpuReport(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("gpus") || !json["gpus"].is_array()) {
    return InvalidArgument("it is no report of devices");
  }
  GpuReport report{.absent = Text(json, "absent"),
                   .driver = Text(json, "driver"),
                   .runtime = Text(json, "runtime"),
                   .libraries = Text(json, "libraries")};
  for (const Json& gpu : json["gpus"]) {
    if (!gpu.is_object() || Text(gpu, "name").empty()) return InvalidArgument("a GPU has no name");
    report.gpus.push_back({Text(gpu, "name"), Text(gpu, "model"), Text(gpu, "compute_capability"),
                           Whole(gpu, "memory_bytes"), Whole(gpu, "free_bytes"),
                           Text(gpu, "unusable")});
  }
  return report;
}

GpuReport AskForGpus(const std::filesystem::path& trainer, Millis limit) {
  const std::string command = trainer.filename().string() + " devices";
  auto child = ChildProcess::Spawn(
      {.program = trainer, .arguments = {"devices", "--format", "json"}, .output_fd = 1});
  if (!child.ok()) return NoAnswer(child.status().message());
  (*child)->CloseInput();
  std::string output, errors;
  if (!ReadToEnd(**child, Clock::Real().Now() + limit, &output, &errors)) {
    // A process that hangs inside the driver cannot even be killed: nobody waits for it here.
    std::thread([left = *std::move(child)] { left->Wait(Millis(0)); }).detach();
    return NoAnswer(command + " did not answer within " + std::to_string(limit.count() / 1000) +
                    " s; the NVIDIA driver may hang (see dmesg)");
  }
  const ChildEnd end = (*child)->Wait(Millis(1000));
  auto report = ParseGpuReport(output);
  if (report.ok()) return *std::move(report);
  const std::string how = end.signal != 0 ? "was ended by signal " + std::to_string(end.signal)
                                          : "exited with code " + std::to_string(end.code);
  return NoAnswer(command + " " + how + (errors.empty() ? "" : ": " + LastLine(errors)));
}

}  // namespace gyre
