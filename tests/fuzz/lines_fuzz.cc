// What trainer and worker say to each other, statistics among it, and what a worker's spool has on
// disk. Each input is taken for each of them.

#include <nlohmann/json.hpp>
#include <string>

#include "tests/fuzz/fuzz.h"
#include "trainer/serve_messages.h"
#include "trainer/statistics/record.h"
#include "worker/convert.h"
#include "worker/trainer_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string line(reinterpret_cast<const char*>(data), size);
  (void)gyre::ParseTrainerMessage(line).ok();
  (void)gyre::ParseServeRequest(line).ok();
  (void)gyre::DecodeOwner(line).ok();
  const auto report = gyre::DecodeReport(line);
  if (report.ok()) {
    gyre::Require(gyre::DecodeReport(gyre::EncodeReport(*report)).ok(), "a report reads back");
  }
  const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
  if (!json.is_discarded()) (void)gyre::StatisticsRecordFromJson(json).ok();
  return 0;
}
