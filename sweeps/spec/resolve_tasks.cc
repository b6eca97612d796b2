// evaluate.tasks of a merged point: names, buckets of distances, and whether there is room for
// them.

#include <algorithm>
#include <set>

#include "sweeps/spec/point_checks.h"
#include "trainer/data/task.h"
#include "trainer/data/task_text.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {
namespace {

const int kTasks = FieldIndexOrDie("evaluate.tasks");
const int kContext = FieldIndexOrDie("data.context");
const int kTokenizer = FieldIndexOrDie("data.tokenizer");

constexpr int kDefaultRows = 32;
constexpr int kFirstEdge = 16;

// 1, 16, 32, 64, ... below the longest context.
std::vector<int> DefaultDistances(const JobConfig& config) {
  int longest = config.data.context;
  for (const int context : config.evaluate.contexts) longest = std::max(longest, context);
  std::vector<int> edges = {1};
  for (int edge = kFirstEdge; edge < longest; edge *= 2) edges.push_back(edge);
  return edges;
}

TaskConfig TaskOf(const Json& written, const JobConfig& config) {
  TaskConfig task;
  task.task = written["task"].get<std::string>();
  task.rows = written.value("rows", kDefaultRows);
  if (task.task == "recall") task.keys = written.value("keys", kDefaultKeys);
  if (task.task == "copy") task.offset = written.value("offset", 1);
  if (HasDistance(task.task)) {
    task.distances = written.contains("distances") ? written["distances"].get<std::vector<int>>()
                                                   : DefaultDistances(config);
  }
  task.name = written.value("name", task.task);
  if (!written.contains("name") && written.contains("keys")) {
    task.name += "-" + std::to_string(task.keys);
  }
  if (!written.contains("name") && written.contains("offset")) {
    task.name += "-" + std::to_string(task.offset);
  }
  return task;
}

// As far as it can be known without a tokenizer's file.
Status CheckRoom(const TaskConfig& task, const DataConfig& data) {
  const auto request = TokenizerRequestFromJson(data.tokenizer);
  if (!request.ok() || request->kind == TokenizerKind::kModel ||
      request->kind == TokenizerKind::kTrained) {
    return OkStatus();
  }
  const auto tokenizer = request->kind == TokenizerKind::kIds
                             ? MakeIdTokenizer(request->vocab_size, request->document_start)
                             : MakeByteTokenizer();
  GYRE_ASSIGN_OR_RETURN(const TaskMaker maker, TaskMaker::Create(task, tokenizer.get()));
  const int smallest = maker.SmallestDistance(), largest = maker.LargestDistance(data.context);
  if (largest < smallest) {
    return InvalidArgument("the task " + task.name + " has no room in a context of " +
                           std::to_string(data.context) + " tokens");
  }
  if (task.distances.empty() || task.distances.front() <= largest) return OkStatus();
  return InvalidArgument("the task " + task.name + " has distances of " + std::to_string(smallest) +
                         " to " + std::to_string(largest) + " in a context of " +
                         std::to_string(data.context) + " tokens");
}

}  // namespace

void ResolveTasks(PointChecks* checks, RoomChecks* known, JobConfig* config) {
  const Setting* setting = checks->point().At(kTasks);
  if (setting == nullptr) return;
  std::set<std::string> names = {"train"};
  for (const auto& [name, source] : config->data.validation.items()) names.insert(name);
  for (const Json& written : setting->value) {
    const TaskConfig task = TaskOf(written, *config);
    if (!names.insert(task.name).second) {
      checks->Add(
          {kTasks},
          "evaluate.tasks: a validation set or another task is called " + task.name + ", too",
          "give it a name: {task: " + task.task + ", name: another}");
    }
    const auto [room, is_new] = known->try_emplace(
        written.dump() + config->data.tokenizer.dump() + std::to_string(config->data.context),
        OkStatus());
    if (is_new) room->second = CheckRoom(task, config->data);
    if (!room->second.ok()) {
      checks->Add({kTasks, kContext, kTokenizer}, "evaluate.tasks: " + room->second.message());
    }
    config->evaluate.tasks.push_back(task);
  }
}

}  // namespace gyre
