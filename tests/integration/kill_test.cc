// The proof of the whole: a sweep of real training, over real processes, in which worker, trainer
// and coordinator are killed with SIGKILL again and again, ends with the same database as one that
// nobody disturbed, bit for bit.

#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/integration/cluster.h"

namespace gyre {
namespace {

enum class Victim { kTrainer, kWorker, kCoordinator, kCoordinatorAndWorker };

class KillTest : public ClusterTest {
 protected:
  /// How many processes were killed. They are started again; trainers by their workers.
  int Strike(Victim victim) {
    const int busy = BusyWorker();
    const size_t index = busy < 0 ? 0 : static_cast<size_t>(busy);
    const std::vector<int> trainers = ChildrenOf(workers_[index].pid());
    if (victim == Victim::kTrainer) {
      for (const int trainer : trainers) KillProcess(trainer);
      return 1;
    }
    const bool coordinator = victim != Victim::kWorker, worker = victim != Victim::kCoordinator;
    if (coordinator) coordinator_->Kill();
    if (worker) {
      workers_[index].Kill();
      for (const int trainer : trainers) {
        EXPECT_TRUE(Await([&] { return !Runs(trainer); })) << "a trainer outlived its worker";
      }
      StartWorker(index);
    }
    if (coordinator) StartCoordinator();
    return (coordinator ? 1 : 0) + (worker ? 1 : 0);
  }
};

constexpr const char* kPoints =
    "SELECT v.name, j.seed, p.metric, p.step, p.tokens, p.value FROM points p "
    "JOIN jobs j ON j.id = p.job_id JOIN variants v ON v.id = j.variant_id ORDER BY 1, 2, 3, 4";
// A kind of statistics, but for whose job and attempt it is.
struct Kind {
  const char* table;
  const char* columns;
};
constexpr Kind kStatistics[] = {
    {"frequency_norms", "step, tokens, layer, tensor, head, norms, norms_without_first"},
    {"logit_shares", "step, tokens, layer, head, contributions, shares, first, others"},
    {"head_scores", "step, tokens, layer, head, diagonal, previous, first, entropy, distance"},
    {"token_norms", "step, tokens, layer, tensor, head, norms"},
    {"attention_maps", "step, tokens, layer, head, weights"},
    {"document_losses", "step, tokens, validation_set, targets, nats"},
};
constexpr const char* kFinalWeights =
    "SELECT v.name, j.seed, c.step, c.hash FROM checkpoints c JOIN jobs j ON j.id = c.job_id "
    "JOIN variants v ON v.id = j.variant_id WHERE c.weights_only ORDER BY 1, 2";

// It4innovations/hyperqueue#249, It4innovations/hyperqueue#978: a server that is started anew has
// lost jobs, and its workers are orphans.
TEST_F(KillTest, ASweepThatIsKilledAgainAndAgainEndsAsIfNothingHadHappened) {
  const auto sweep = WriteSweep("wheel"), undisturbed = folder_ / "undisturbed.db";
  ASSERT_EQ(Gyre({"run", sweep, "--db", undisturbed, "--slots", "2"}, "undisturbed", "run.log")
                .Wait(kDeadline),
            0);

  StartCoordinator();
  StartWorker(0);
  StartWorker(1);
  ASSERT_TRUE(Await([&] { return Submit(sweep) == 0; }));
  int kills = 0;
  for (const Victim victim :
       {Victim::kTrainer, Victim::kCoordinator, Victim::kWorker, Victim::kTrainer,
        Victim::kCoordinatorAndWorker, Victim::kWorker, Victim::kTrainer}) {
    ASSERT_TRUE(AwaitMorePoints(100)) << "after " << kills << " kills";
    kills += Strike(victim);
  }
  EXPECT_EQ(kills, 8);
  ASSERT_TRUE(Await([&] { return Count("jobs WHERE state = 'SUCCEEDED'") == kJobs; }));

  const int64_t lost = Count("attempts WHERE state = 'LOST'");
  const int64_t resumed = Count("attempts WHERE resumed_from_step > 0");
  std::printf("%d kills, %d jobs: %" PRId64 " attempts lost, %" PRId64 " resumed\n", kills, kJobs,
              lost, resumed);
  EXPECT_GE(lost, 1);
  EXPECT_GE(resumed, 1);
  EXPECT_EQ(Count("attempts WHERE state NOT IN ('SUCCEEDED', 'LOST')"), 0);
  EXPECT_EQ(Count("events WHERE kind = 'nondeterminism'"), 0);
  const Rows points = Select(db_, kPoints);
  EXPECT_GT(points.size(), 3000u);
  EXPECT_EQ(points, Select(undisturbed, kPoints));
  for (const Kind& kind : kStatistics) {
    const std::string sql = std::string("SELECT v.name, j.seed, ") + kind.columns + " FROM " +
                            kind.table +
                            " n JOIN jobs j ON j.id = n.job_id JOIN variants v ON v.id = "
                            "j.variant_id ORDER BY 1, 2, 3, 4, 5, 6, 7";
    const Rows rows = Select(db_, sql);
    EXPECT_GE(rows.size(), size_t{kJobs}) << kind.table;
    EXPECT_EQ(rows, Select(undisturbed, sql)) << kind.table;
  }
  const Rows weights = Select(db_, kFinalWeights);
  EXPECT_EQ(weights.size(), size_t{kJobs});
  EXPECT_EQ(weights, Select(undisturbed, kFinalWeights));

  // The same sweep again, then the same jobs under another name: nothing is trained.
  for (const char* name : {"wheel", "again"}) {
    const Millis begin = Clock::Real().Now();
    EXPECT_EQ(Submit(WriteSweep(name), {"--watch"}), 0);
    EXPECT_LT(Clock::Real().Now() - begin, Millis(2000)) << name;
  }
  EXPECT_EQ(Count("jobs WHERE state = 'SUCCEEDED' AND reused_from IS NOT NULL"), kJobs);
  EXPECT_EQ(Count("jobs"), 2 * kJobs);
  // A job that reuses another's statistics shows them as its own.
  const auto census = [&](const char* name) {
    return Select(db_, std::string("SELECT variant, seed, step, layer, head, kind FROM head_census "
                                   "WHERE sweep = '") +
                           name + "' ORDER BY 1, 2, 3, 4, 5");
  };
  EXPECT_EQ(census("again"), census("wheel"));
}

}  // namespace
}  // namespace gyre
