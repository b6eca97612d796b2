#include "tests/integration/cluster.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <utility>

#include "base/ids.h"
#include "base/random.h"
#include "results/database.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

// Words drawn at random, in lines and paragraphs: enough structure that a model learns something.
std::string MadeUpText() {
  static constexpr const char* kWords[] = {
      "the",  "wheel", "turns",  "and",  "the",   "gyre",   "widens", "again", "falcon", "cannot",
      "hear", "a",     "centre", "that", "holds", "things", "apart",  "upon",  "world",  "tide"};
  const Random random(7, "text");
  std::string text;
  for (uint64_t word = 0; text.size() < 60000; ++word) {
    text += kWords[random.Below(std::size(kWords), 0, word)];
    text += word % 97 == 96 ? ".\n\n" : word % 12 == 11 ? ".\n" : " ";
  }
  return text;
}

constexpr const char* kSweep = R"(
base:
  model: {num_hidden_layers: 2, hidden_size: 32, intermediate_size: 64, num_attention_heads: 2, head_dim: 16}
  data: {train: text.txt, context: 64}
  train: {tokens: 192Ki, batch_tokens: 512, checkpoint_every: 8Ki, optimizer: {lr: 3e-3}}
  evaluate: {every: 16Ki, tokens: 1Ki}
  statistics:
    every: 24Ki
    sequences: 4
    collect: [frequency_norms, logit_shares, head_scores, token_norms]
variants:
  NoPE: {position: {type: nope}}
  RoPE: {}
  0.5-RoPE: {position: {p: 0.5}}
  ALiBi: {position: {type: alibi}}
seeds: [0, 1]
baseline: RoPE
)";

std::string Text(const Statement& statement, int column) {
  constexpr int kFloat = 2;  // SQLITE_FLOAT
  if (statement.Type(column) != kFloat) return statement.Text(column);
  char bits[32];
  std::snprintf(bits, sizeof bits, "%016" PRIx64, std::bit_cast<uint64_t>(statement.Real(column)));
  return bits;
}

int64_t Number(const fs::path& file, const std::string& sql) {
  const Rows rows = Select(file, sql);
  return rows.empty() || rows[0].empty() ? 0 : std::stoll(rows[0]);
}

}  // namespace

Rows Select(const fs::path& file, const std::string& sql) {
  auto database = Database::OpenReadOnly(file);
  if (!database.ok()) return {};
  auto statement = database->Prepare(sql);
  if (!statement.ok()) return {};
  Rows rows;
  while (true) {
    const auto more = statement->Step();
    if (!more.ok()) return {};
    if (!*more) return rows;
    std::string row;
    for (int column = 0; column < statement->columns(); ++column) {
      row += (column == 0 ? "" : "|") + Text(*statement, column);
    }
    rows.push_back(row);
  }
}

ClusterTest::ClusterTest()
    : folder_(fs::temp_directory_path() / ("gyre-cluster-" + NewId())),
      port_(FreePort()),
      address_("127.0.0.1:" + std::to_string(port_)),
      db_(folder_ / "results.db") {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "text.txt") << MadeUpText();
}

ClusterTest::~ClusterTest() {
  workers_.clear();
  coordinator_.reset();
  if (HasFailure()) {
    std::fprintf(stderr, "what the processes said is in %s\n", folder_.c_str());
  } else {
    fs::remove_all(folder_);
  }
}

fs::path ClusterTest::WriteSweep(const std::string& name) {
  const fs::path file = folder_ / (name + ".yaml");
  std::ofstream(file) << "sweep: " << name << kSweep;
  return file;
}

Process ClusterTest::Gyre(std::vector<std::string> arguments, const std::string& home,
                          const std::string& log) {
  arguments.insert(arguments.begin(), GYRE_PROGRAM);
  return Process(std::move(arguments), {{"GYRE_HOME", folder_ / home}}, folder_ / log);
}

void ClusterTest::StartCoordinator() {
  std::vector<std::string> command = {
      "coordinator", "--listen",         address_, "--db",
      db_,           "--heartbeat-ms",   "200",    "--lease-ms",
      "1500",        "--first-grace-ms", "4000",   "--suspect-grace-ms",
      "1000"};
  command.insert(command.end(), options_of_coordinator_.begin(), options_of_coordinator_.end());
  coordinator_.emplace(Gyre(std::move(command), home_of_coordinator_, "coordinator.log"));
}

void ClusterTest::StartWorker(size_t index) {
  const std::string name = "w" + std::to_string(index);
  std::vector<std::string> command = {"worker", "--coordinator", address_, "--slots",
                                      "1",      "--name",        name};
  command.insert(command.end(), options_of_worker_.begin(), options_of_worker_.end());
  Process worker = Gyre(std::move(command), home_of_worker_(index), name + ".log");
  if (index < workers_.size()) {
    workers_[index] = std::move(worker);
  } else {
    workers_.push_back(std::move(worker));
  }
}

int ClusterTest::Submit(const fs::path& sweep, std::vector<std::string> more) {
  more.insert(more.begin(), {"submit", sweep, "--coordinator", address_});
  return Gyre(more, home_of_client_, "submit.log").Wait(kDeadline);
}

int64_t ClusterTest::Count(const std::string& table_and_condition) const {
  return Number(db_, "SELECT count(*) FROM " + table_and_condition);
}

int ClusterTest::BusyWorker() const {
  return static_cast<int>(
      Number(db_,
             "SELECT coalesce(min(substr(w.name, 2) + 0), -1) FROM attempts a "
             "JOIN workers w ON w.id = a.worker_id WHERE a.state = 'RUNNING' AND EXISTS "
             "(SELECT 1 FROM points p WHERE p.job_id = a.job_id AND p.attempt = a.number)"));
}

bool ClusterTest::AwaitMorePoints(int count) const {
  const int64_t before = Count("points");
  return Await([&] { return Count("points") >= before + count && BusyWorker() >= 0; });
}

}  // namespace gyre
