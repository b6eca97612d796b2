// The proof of the whole: a sweep of real training, over real processes, in which worker, trainer
// and coordinator are killed with SIGKILL again and again, ends with the same database as one that
// nobody disturbed, bit for bit.

#include <gtest/gtest.h>
#include <signal.h>

#include <bit>
#include <cinttypes>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/random.h"
#include "results/database.h"
#include "tests/integration/process.h"

namespace gyre {
namespace {

namespace fs = std::filesystem;

constexpr Millis kDeadline{120000};
constexpr int kJobs = 8;

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

constexpr const char* kSweep = R"(sweep: NAME
base:
  model: {num_hidden_layers: 2, hidden_size: 32, intermediate_size: 64, num_attention_heads: 2, head_dim: 16}
  data: {train: text.txt, context: 64}
  train: {tokens: 192Ki, batch_tokens: 512, checkpoint_every: 8Ki, optimizer: {lr: 3e-3}}
  evaluate: {every: 16Ki, tokens: 1Ki}
variants:
  NoPE: {position: {type: nope}}
  RoPE: {}
  0.5-RoPE: {position: {p: 0.5}}
  ALiBi: {position: {type: alibi}}
seeds: [0, 1]
baseline: RoPE
)";

// One row of what a query answers, every value as text, doubles by their bits.
using Rows = std::vector<std::string>;

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
      char bits[32];
      std::snprintf(bits, sizeof bits, "%016" PRIx64,
                    std::bit_cast<uint64_t>(statement->Real(column)));
      row += (column == 0 ? "" : "|") +
             (statement->Type(column) == 2 ? bits : statement->Text(column));
    }
    rows.push_back(row);
  }
}

int64_t Number(const fs::path& file, const std::string& sql) {
  const Rows rows = Select(file, sql);
  return rows.empty() || rows[0].empty() ? 0 : std::stoll(rows[0]);
}

enum class Victim { kTrainer, kWorker, kCoordinator, kCoordinatorAndWorker };

class KillTest : public ::testing::Test {
 protected:
  KillTest() : folder_(fs::temp_directory_path() / ("gyre-kill-" + NewId())), port_(FreePort()) {
    fs::create_directories(folder_);
    std::ofstream(folder_ / "text.txt") << MadeUpText();
  }
  ~KillTest() override {
    workers_.clear();
    coordinator_.reset();
    if (HasFailure()) {
      std::fprintf(stderr, "what the processes said is in %s\n", folder_.c_str());
    } else {
      fs::remove_all(folder_);
    }
  }

  fs::path WriteSweep(const std::string& name) {
    std::string yaml = kSweep;
    yaml.replace(yaml.find("NAME"), 4, name);
    const fs::path file = folder_ / (name + ".yaml");
    std::ofstream(file) << yaml;
    return file;
  }

  Process Gyre(std::vector<std::string> arguments, const std::string& home,
               const std::string& log) {
    arguments.insert(arguments.begin(), GYRE_PROGRAM);
    return Process(std::move(arguments), {{"GYRE_HOME", folder_ / home}}, folder_ / log);
  }
  std::string Address() const { return "127.0.0.1:" + std::to_string(port_); }

  void StartCoordinator() {
    coordinator_.emplace(Gyre({"coordinator", "--listen", Address(), "--db", db_, "--heartbeat-ms",
                               "200", "--lease-ms", "1500", "--first-grace-ms", "4000"},
                              "home", "coordinator.log"));
  }
  void StartWorker(size_t index) {
    const std::string name = "w" + std::to_string(index);
    Process worker = Gyre({"worker", "--coordinator", Address(), "--slots", "1", "--name", name},
                          "home", name + ".log");
    if (index < workers_.size()) {
      workers_[index] = std::move(worker);
    } else {
      workers_.push_back(std::move(worker));
    }
  }
  int Submit(const fs::path& sweep, const std::string& log, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"submit", sweep, "--coordinator", Address()});
    return Gyre(more, "home", log).Wait(kDeadline);
  }

  static bool Await(const std::function<bool()>& condition) {
    return gyre::Await(condition, kDeadline);
  }

  int64_t Count(const std::string& table_and_condition) const {
    return Number(db_, "SELECT count(*) FROM " + table_and_condition);
  }
  // The worker that has had a checkpoint of its running attempt acknowledged, or -1.
  int BusyWorker() const {
    return static_cast<int>(
        Number(db_,
               "SELECT coalesce(min(substr(w.name, 2) + 0), -1) FROM attempts a "
               "JOIN workers w ON w.id = a.worker_id WHERE a.state = 'RUNNING' AND EXISTS "
               "(SELECT 1 FROM points p WHERE p.job_id = a.job_id AND p.attempt = a.number)"));
  }

  bool AwaitMorePoints(int count) {
    const int64_t before = Count("points");
    return Await([&] { return Count("points") >= before + count && BusyWorker() >= 0; });
  }

  // How many processes were killed; they are started again, but for trainers, whom their workers
  // start.
  int Strike(Victim victim) {
    const int busy = BusyWorker();
    const size_t index = busy < 0 ? 0 : static_cast<size_t>(busy);
    if (victim == Victim::kTrainer) {
      for (const int trainer : ChildrenOf(workers_[index].pid())) KillProcess(trainer);
      return 1;
    }
    const bool coordinator = victim != Victim::kWorker, worker = victim != Victim::kCoordinator;
    if (coordinator) coordinator_->Kill();
    if (worker) {
      const std::vector<int> trainers = ChildrenOf(workers_[index].pid());
      workers_[index].Kill();
      for (const int trainer : trainers) {
        EXPECT_TRUE(Await([&] { return !Runs(trainer); })) << "a trainer outlived its worker";
      }
      StartWorker(index);
    }
    if (coordinator) StartCoordinator();
    return (coordinator ? 1 : 0) + (worker ? 1 : 0);
  }

  const fs::path folder_;
  const int port_;
  const fs::path db_ = folder_ / "results.db";
  std::optional<Process> coordinator_;
  std::vector<Process> workers_;
};

constexpr const char* kPoints =
    "SELECT v.name, j.seed, p.metric, p.step, p.tokens, p.value FROM points p JOIN jobs j ON j.id "
    "= p.job_id "
    "JOIN variants v ON v.id = j.variant_id ORDER BY 1, 2, 3, 4";
constexpr const char* kFinalWeights =
    "SELECT v.name, j.seed, max(c.step), c.hash FROM checkpoints c JOIN jobs j ON j.id = c.job_id "
    "JOIN variants v ON v.id = j.variant_id GROUP BY j.id ORDER BY 1, 2";

TEST_F(KillTest, ASweepThatIsKilledAgainAndAgainEndsAsIfNothingHadHappened) {
  const fs::path sweep = WriteSweep("wheel"), undisturbed = folder_ / "undisturbed.db";
  ASSERT_EQ(Gyre({"run", sweep, "--db", undisturbed, "--slots", "2"}, "undisturbed", "run.log")
                .Wait(kDeadline),
            0);

  StartCoordinator();
  StartWorker(0);
  StartWorker(1);
  ASSERT_TRUE(Await([&] { return Submit(sweep, "submit.log") == 0; }));

  int kills = 0;
  for (const Victim victim :
       {Victim::kTrainer, Victim::kCoordinator, Victim::kWorker, Victim::kTrainer,
        Victim::kCoordinatorAndWorker, Victim::kWorker, Victim::kTrainer}) {
    ASSERT_TRUE(AwaitMorePoints(100)) << "after " << kills << " kills";
    kills += Strike(victim);
  }
  EXPECT_EQ(kills, 8);
  ASSERT_TRUE(Await([&] { return Count("jobs WHERE state = 'SUCCEEDED'") == kJobs; }));

  EXPECT_GE(Count("attempts WHERE state = 'LOST'"), 1);
  EXPECT_GE(Count("attempts WHERE resumed_from_step > 0"), 1);
  EXPECT_EQ(Count("attempts WHERE state NOT IN ('SUCCEEDED', 'LOST')"), 0);
  EXPECT_EQ(Count("events WHERE kind = 'nondeterminism'"), 0);
  const Rows points = Select(db_, kPoints);
  EXPECT_GT(points.size(), 3000u);
  EXPECT_EQ(points, Select(undisturbed, kPoints));
  const Rows weights = Select(db_, kFinalWeights);
  EXPECT_EQ(weights.size(), size_t{kJobs});
  EXPECT_EQ(weights, Select(undisturbed, kFinalWeights));

  // The same sweep again, then the same jobs under another name: nothing is trained.
  for (const char* name : {"wheel", "again"}) {
    const Millis begin = Clock::Real().Now();
    EXPECT_EQ(Submit(WriteSweep(name), "submit.log", {"--watch"}), 0);
    EXPECT_LT(Clock::Real().Now() - begin, Millis(2000)) << name;
  }
  EXPECT_EQ(Count("jobs WHERE state = 'SUCCEEDED' AND reused_from IS NOT NULL"), kJobs);
  EXPECT_EQ(Count("jobs"), 2 * kJobs);

  for (Process& worker : workers_) {
    worker.Signal(SIGTERM);
    EXPECT_EQ(worker.Wait(kDeadline), 0);
  }
  coordinator_->Signal(SIGTERM);
  EXPECT_EQ(coordinator_->Wait(kDeadline), 0);
}

}  // namespace
}  // namespace gyre
