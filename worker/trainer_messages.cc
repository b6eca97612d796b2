#include "worker/trainer_messages.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>

#include "trainer/config/job_config.h"

namespace gyre {
namespace {

constexpr size_t kQuotedBytes = 200;  // of a line that is wrong, in the message about it

std::string Quoted(std::string_view line) {
  std::string quoted;
  for (const char c : line.substr(0, kQuotedBytes)) quoted += (c >= 32 && c < 127) ? c : '?';
  return "'" + quoted + (line.size() > kQuotedBytes ? "...'" : "'");
}

// Reads the fields of one message and remembers the first that is missing or of the wrong type.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}

  int64_t Whole(const char* name) {
    const Json* field = Find(name, &Json::is_number_integer);
    return field == nullptr ? 0 : field->get<int64_t>();
  }
  double Number(const char* name) {
    const Json* field = Find(name, &Json::is_number);
    return field == nullptr ? 0 : field->get<double>();
  }
  bool Bool(const char* name) {
    const Json* field = Find(name, &Json::is_boolean);
    return field != nullptr && field->get<bool>();
  }
  std::string Text(const char* name) {
    const Json* field = Find(name, &Json::is_string);
    return field == nullptr ? std::string() : field->get<std::string>();
  }
  std::string Object(const char* name) {
    const Json* field = Find(name, &Json::is_object);
    return field == nullptr ? std::string() : field->dump();
  }
  std::vector<std::string> Texts(const char* name) {
    std::vector<std::string> texts;
    const Json* field = Find(name, &Json::is_array);
    if (field == nullptr) return texts;
    for (const Json& item : *field) {
      if (item.is_string()) texts.push_back(item.get<std::string>());
    }
    return texts;
  }
  bool IsNull(const char* name) const { return json_.contains(name) && json_.at(name).is_null(); }

  /// A number, or null with what it stands for beside it: JSON has no NaN.
  double NumberOrSpecial(const char* name) {
    if (!IsNull(name)) return Number(name);
    const auto special = json_.find("special");
    if (special != json_.end() && *special == "inf") return std::numeric_limits<double>::infinity();
    if (special != json_.end() && *special == "-inf")
      return -std::numeric_limits<double>::infinity();
    return std::numeric_limits<double>::quiet_NaN();
  }

  const std::string& wrong() const { return wrong_; }

 private:
  const Json* Find(const char* name, bool (Json::*is_wanted)() const noexcept) {
    const auto field = json_.find(name);
    if (field != json_.end() && ((*field).*is_wanted)()) return &*field;
    if (wrong_.empty()) wrong_ = name;
    return nullptr;
  }

  const Json& json_;
  std::string wrong_;
};

StatusCode CodeFromName(std::string_view name) {
  for (int code = 1; code <= static_cast<int>(StatusCode::kInternal); ++code) {
    if (StatusCodeName(static_cast<StatusCode>(code)) == name) return static_cast<StatusCode>(code);
  }
  return StatusCode::kInternal;
}

std::optional<TrainerMessage> ReadMessage(const std::string& type, Fields& fields) {
  if (type == "hello") {
    return TrainerHello{static_cast<int>(fields.Whole("protocol")), fields.Text("version"),
                        fields.Object("fingerprint"), fields.Texts("precisions")};
  }
  if (type == "started") return TrainerStarted{fields.Object("fingerprint")};
  if (type == "point") {
    return Point{fields.Text("metric"), fields.Whole("step"), fields.Whole("tokens"),
                 fields.NumberOrSpecial("value")};
  }
  if (type == "statistics") return StatisticsText{fields.Object("record")};
  if (type == "progress") {
    return Progress{fields.Whole("step"), fields.Whole("tokens"),
                    fields.Number("tokens_per_second"), fields.NumberOrSpecial("loss")};
  }
  if (type == "checkpoint") {
    return Checkpoint{fields.Whole("step"), fields.Whole("tokens"), fields.Text("hash"),
                      fields.Whole("bytes"), fields.Bool("weights_only")};
  }
  if (type == "done") {
    TrainerDone done{.step = fields.Whole("step"),
                     .tokens = fields.Whole("tokens"),
                     .stopped = fields.Bool("stopped")};
    if (!fields.IsNull("diverged_at_step"))
      done.diverged_at_step = fields.Whole("diverged_at_step");
    done.tokens_per_second = fields.Number("tokens_per_second");
    done.peak_memory_bytes = fields.Whole("peak_memory_bytes");
    return done;
  }
  if (type == "disk_full") return TrainerDiskFull{fields.Text("message")};
  if (type == "error") {
    const std::string code = fields.Text("code");
    return TrainerError{Status(CodeFromName(code), fields.Text("message"))};
  }
  return std::nullopt;
}

/// What the lease's job says, float32 if it says nothing.
std::string WantedPrecision(const Lease& lease) {
  const Json job = Json::parse(lease.job, nullptr, /*allow_exceptions=*/false);
  const Json::json_pointer place("/config/train/precision");
  const Json wanted = job.contains(place) ? job.at(place) : Json();
  return wanted.is_string() ? wanted.get<std::string>() : "float32";
}

/// Of the devices "cuda:0,cuda:2" rank 1 has the second; where there is one, all have that.
std::string DeviceOf(const Lease& lease, int rank) {
  std::istringstream names(lease.device);
  std::string device = lease.device;
  for (int i = 0; i <= rank; ++i) std::getline(names, device, ',');
  return device;
}

int ThreadsOf(const Lease& lease, int world) { return std::max(1, lease.cpus / world); }

}  // namespace

Result<TrainerMessage> ParseTrainerMessage(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return InvalidArgument("the trainer said what is no JSON object: " + Quoted(line));
  Fields fields(json);
  const std::string type = fields.Text("type");
  std::optional<TrainerMessage> message = ReadMessage(type, fields);
  if (!fields.wrong().empty()) {
    return InvalidArgument("the trainer said a message without a right '" + fields.wrong() +
                           "': " + Quoted(line));
  }
  if (!message)
    return InvalidArgument("the trainer said a message of unknown type: " + Quoted(line));
  return *std::move(message);
}

std::string MissingPrecision(const TrainerStarted& started, const Lease& lease) {
  const std::string wanted = WantedPrecision(lease);
  const Json fingerprint = Json::parse(started.fingerprint);  // by ourselves, in `Fields::Object`
  return wanted == fingerprint.value("precision", Json("float32")) ? "" : wanted;
}

Result<std::string> RunCommand(const Lease& lease, const std::string& home,
                               const RankPlace& place) {
  Json job = Json::parse(lease.job, nullptr, /*allow_exceptions=*/false);
  if (!job.is_object())
    return InvalidArgument("the job that came with the lease is no JSON object");
  Json command = {{"type", "run"},
                  {"job", std::move(job)},
                  {"resume_from", lease.checkpoint_hash},
                  {"threads", ThreadsOf(lease, place.world)},
                  {"home", home}};
  command["device"] = DeviceOf(lease, place.rank);
  if (place.world > 1) {
    command["rank"] = place.rank;
    command["world"] = place.world;
    command["rendezvous"] = place.rendezvous;
  }
  return command.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gyre
