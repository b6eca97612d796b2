#include "trainer/serve_messages.h"

#include <cmath>
#include <utility>

#include "trainer/backend/create_backend.h"
#include "trainer/statistics/record.h"

namespace gyre {
namespace {

constexpr int kProtocol = 2;
constexpr int kMaxThreads = 1024;
constexpr int kMaxWorld = 1024;

std::string Line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// JSON has no NaN: null, and beside it what it stands for.
void SetNumber(Json* json, const char* name, double value) {
  (*json)[name] = std::isfinite(value) ? Json(value) : Json();
  if (!std::isfinite(value))
    (*json)["special"] = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Result<std::string> TextField(const Json& json, const char* name) {
  const auto field = json.find(name);
  if (field == json.end() || !field->is_string()) {
    return InvalidArgument(std::string("a run line needs the text '") + name + "'");
  }
  return field->get<std::string>();
}

Status ReadPlace(const Json& json, RankOptions* place) {
  const auto whole = [&](const char* name, int least, int most, int otherwise) -> Result<int> {
    const Json value = json.value(name, Json(otherwise));
    if (value.is_number_integer() && value >= least && value <= most) return value.get<int>();
    return InvalidArgument(std::string("a run line has '") + name + "' from " +
                           std::to_string(least) + " to " + std::to_string(most));
  };
  GYRE_ASSIGN_OR_RETURN(place->world, whole("world", 1, kMaxWorld, 1));
  GYRE_ASSIGN_OR_RETURN(place->rank, whole("rank", 0, place->world - 1, 0));
  if (place->world == 1) return OkStatus();
  GYRE_ASSIGN_OR_RETURN(const std::string folder, TextField(json, "rendezvous"));
  if (folder.empty()) return InvalidArgument("a run line needs a folder as 'rendezvous'");
  place->folder = folder;
  return OkStatus();
}

Result<ServeRequest> ParseRun(const Json& json) {
  RunRequest run;
  if (!json.contains("job")) return InvalidArgument("a run line needs 'job'");
  GYRE_ASSIGN_OR_RETURN(run.job, TrainerJobFromJson(json["job"]));
  GYRE_ASSIGN_OR_RETURN(run.options.resume_from, TextField(json, "resume_from"));
  GYRE_ASSIGN_OR_RETURN(const std::string home, TextField(json, "home"));
  if (home.empty()) return InvalidArgument("a run line needs a folder as 'home'");
  run.options.home = home;
  const auto threads = json.find("threads");
  if (threads == json.end() || !threads->is_number_integer() || *threads < 1 ||
      *threads > kMaxThreads) {
    return InvalidArgument("a run line needs 'threads', from 1 to " + std::to_string(kMaxThreads));
  }
  run.options.threads = threads->get<int>();
  if (json.contains("device")) {
    GYRE_ASSIGN_OR_RETURN(run.options.backend, TextField(json, "device"));
  }
  GYRE_RETURN_IF_ERROR(ReadPlace(json, &run.place));
  return ServeRequest(std::move(run));
}

}  // namespace

Result<ServeRequest> ParseServeRequest(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("a line on stdin is not a JSON object");
  const auto type = json.find("type");
  if (type != json.end() && *type == "run") return ParseRun(json);
  if (type != json.end() && *type == "checkpoint") return ServeRequest(CheckpointRequest());
  if (type != json.end() && *type == "stop") return ServeRequest(StopRequest());
  return InvalidArgument("a line on stdin has no type of run, checkpoint or stop");
}

std::string HelloLine() {
  Json fingerprint = Fingerprint(kDefaultBackend, 1);
  fingerprint.erase("threads");  // each job has its own
  Json precisions = Json::array();
  for (const Precision precision : {Precision::kFloat32, Precision::kBf16}) {
    if (UsablePrecision(kDefaultBackend, precision) == precision &&
        CreateBackend(kDefaultBackend, 1, precision).ok()) {
      precisions.push_back(PrecisionName(precision));
    }
  }
  return Line({{"type", "hello"},
               {"version", GYRE_VERSION},
               {"protocol", kProtocol},
               {"fingerprint", fingerprint},
               {"precisions", precisions}});
}

std::string StartedLine(const Json& fingerprint) {
  return Line({{"type", "started"}, {"fingerprint", fingerprint}});
}

std::string PointLine(const PointValue& point) {
  Json json = {
      {"type", "point"}, {"metric", point.metric}, {"step", point.step}, {"tokens", point.tokens}};
  SetNumber(&json, "value", point.value);
  return Line(json);
}

std::string StatisticsLine(const StatisticsRecord& record) {
  return Line({{"type", "statistics"}, {"record", ToJson(record)}});
}

std::string ProgressLine(const TrainProgress& progress) {
  Json json = {{"type", "progress"},
               {"step", progress.step},
               {"tokens", progress.tokens},
               {"tokens_per_second", progress.tokens_per_second}};
  SetNumber(&json, "loss", progress.loss);
  return Line(json);
}

std::string CheckpointLine(const CheckpointInfo& checkpoint) {
  return Line({{"type", "checkpoint"},
               {"hash", checkpoint.hash},
               {"bytes", checkpoint.bytes},
               {"step", checkpoint.step},
               {"tokens", checkpoint.tokens},
               {"weights_only", checkpoint.weights_only}});
}

std::string DiskFullLine(const std::string& message) {
  return Line({{"type", "disk_full"}, {"message", message}});
}

std::string DoneLine(const TrainOutcome& outcome) {
  return Line(
      {{"type", "done"},
       {"step", outcome.step},
       {"tokens", outcome.tokens},
       {"stopped", outcome.stopped},
       {"diverged_at_step", outcome.diverged_at_step ? Json(*outcome.diverged_at_step) : Json()},
       {"tokens_per_second", outcome.tokens_per_second},
       {"peak_memory_bytes", outcome.peak_memory_bytes}});
}

std::string ErrorLine(const Status& status) {
  return Line(
      {{"type", "error"}, {"code", StatusCodeName(status.code())}, {"message", status.message()}});
}

}  // namespace gyre
