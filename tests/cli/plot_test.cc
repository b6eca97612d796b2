// Every kind of plot: its rows and its script as golden files, and its picture where there is
// gnuplot.

#include "results/plots/plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "cli/gnuplot.h"
#include "cli/output_table.h"
#include "tests/cli/golden.h"
#include "tests/results/results_database.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr char kNasty[] = "\"; `id` <script>_{@a}%d";

bool HasGnuplot() { return std::system("gnuplot --version > /dev/null 2>&1") == 0; }

/// Six variants over theta and p, two seeds each, with everything that can be drawn.
class PlotTest : public ::testing::Test {
 protected:
  PlotTest() {
    Sql("BEGIN");
    sweep_ = db_.AddSweep("s", "RoPE");
    AddVariant("RoPE", "rope", 10000, 1);
    AddVariant("half", "rope", 10000, 0.5);
    AddVariant("low theta", "rope", 100, 1);
    AddVariant(kNasty, "rope", 100, 0.5);
    AddVariant("NoPE", "nope", 10000, 0);
    AddVariant("ALiBi", "alibi", 10000, 0);
    Sql("COMMIT");
  }

  void Sql(const std::string& sql) {
    const Status status = db_.database().Execute(sql);
    EXPECT_TRUE(status.ok()) << status << ": " << sql;
  }

  void AddVariant(const std::string& name, const std::string& type, double theta, double p) {
    const int64_t variant = db_.AddVariant(sweep_, name);
    const bool rotates = type == "rope";
    const std::string position = R"({"type": ")" + type + R"(", "theta": )" +
                                 std::to_string(theta) + R"(, "p": )" + std::to_string(p) + "}";
    Sql("UPDATE variants SET position_type = '" + type +
        "', theta = " + (rotates ? std::to_string(theta) : "NULL") + ", p = " +
        (rotates ? std::to_string(p) : "NULL") + R"(, config = '{"position": )" + position +
        R"(, "model": {"num_key_value_heads": 1}, "data": {"context": 64, "tokenizer": "bytes",)"
        R"( "validation": {"austen": "corpus:austen/validation"}}}' WHERE id = )" +
        std::to_string(variant));
    for (int seed = 0; seed < 2; ++seed) AddJob(variant, seed, theta, rotates ? p : 0);
    ++variants_;
  }

  void AddJob(int64_t variant, int seed, double theta, double p) {
    const int64_t job =
        db_.AddJob(sweep_, variant, {.seed = static_cast<uint64_t>(seed), .tokens_budget = 200});
    const double loss = 2 + 0.25 * variants_ + 0.125 * seed;
    for (int step = 0; step <= 2; ++step) {
      db_.AddPoint(job, "austen/loss_sample", step, 100 * step, loss + 2 - step);
    }
    db_.AddPoint(job, "austen/loss", 2, 200, loss);
    db_.AddPoint(job, "austen/loss@128", 2, 200, loss + 0.5);
    db_.AddPoint(job, "austen/full_windows@128", 2, 200, variants_ == 0 ? 0 : 3);
    db_.AddPoint(job, "austen/loss/0-16", 2, 200, loss + 0.25);
    db_.AddPoint(job, "austen/loss/16-64", 2, 200, loss - 0.25);
    db_.AddPoint(job, "austen/loss/documents-0-16", 2, 200, 99);
    db_.AddPoint(job, "austen/loss_change/zero-0-2", 2, 200, 0.5 + 0.125 * seed);
    db_.AddPoint(job, "austen/loss_change/zero-2-4", 2, 200, 0.25);
    db_.AddPoint(job, "austen/loss_change/zero-0-2-layer-1", 2, 200, 0.125);
    std::string frequencies;
    for (int pair = 0; pair < 4; ++pair) {
      const double frequency = pair < 4 * p ? std::pow(theta, -pair / 4.0) : 0;
      frequencies += (pair > 0 ? ", " : "") + std::to_string(frequency);
    }
    Sql("UPDATE jobs SET rotation = '[{\"frequencies\": [" + frequencies +
        "]}, {\"frequencies\": [" + frequencies + "]}]' WHERE id = " + std::to_string(job));
    for (const int step : {0, 2}) AddStatistics(job, step, seed);
  }

  void AddStatistics(int64_t job, int step, int seed) {
    const std::string place =
        std::to_string(job) + ", " + std::to_string(step) + ", " + std::to_string(100 * step);
    for (int layer = 0; layer < 2; ++layer) {
      for (int head = 0; head < 2; ++head) {
        const std::string at = std::to_string(layer) + ", " + std::to_string(head);
        const std::string q =
            std::to_string(1 + step + seed) + ", 0.5, 0.25, " + std::to_string(2 + layer);
        AddNorms(place, layer, "q", head, q);
        if (head == 0) AddNorms(place, layer, "k", 0, "1, 1, 1, 4");
        Sql("INSERT INTO logit_shares (job_id, step, tokens, layer, head, contributions, shares)"
            " VALUES (" +
            place + ", " + at + ", '[1, 2, 4, 1]', '[0.125, 0.25, 0.5, 0.125]')");
        const char* scores = head == 0    ? "0.9, 0.05, 0.05"
                             : layer == 0 ? "0.1, 0.1, 0.8"
                                          : "0.1, 0.1, 0.1";
        Sql("INSERT INTO head_scores (job_id, step, tokens, layer, head, diagonal, previous, first,"
            " entropy, distance) VALUES (" +
            place + ", " + at + ", " + scores + ", 1, 1)");
        Sql("INSERT INTO attention_maps (job_id, step, tokens, layer, head, weights) VALUES (" +
            place + ", " + at + ", '[[1, 0], [0.25, 0.75]]')");
      }
    }
  }

  void AddNorms(const std::string& place, int layer, const std::string& tensor, int head,
                const std::string& norms) {
    const std::string at =
        place + ", " + std::to_string(layer) + ", '" + tensor + "', " + std::to_string(head);
    Sql("INSERT INTO frequency_norms (job_id, step, tokens, layer, tensor, head, norms,"
        " norms_without_first) VALUES (" +
        at + ", '[" + norms + "]', '[9, 9, 9, 9]')");
    Sql("INSERT INTO token_norms (job_id, step, tokens, layer, tensor, head, norms) VALUES (" + at +
        ", '[[" + norms + "], [1, 2, 3, 4]]')");
  }

  Result<Plot> Make(const PlotOptions& options) {
    return MakePlot(options,
                    [this](const std::string& sql) { return RunQuery(db_.path(), sql, 0); });
  }
  Plot Made(const PlotOptions& options) {
    auto plot = Make(options);
    EXPECT_TRUE(plot.ok()) << options.kind << ": " << plot.status();
    return plot.ok() ? *std::move(plot) : Plot{};
  }
  std::string Svg(const Plot& plot) {
    const auto picture = DrawPicture(plot, PictureFormat::kSvg);
    EXPECT_TRUE(picture.ok()) << picture.status();
    return picture.ok() ? *picture : "";
  }

  ResultsDatabase db_;
  int64_t sweep_ = 0;
  int variants_ = 0;
};

TEST_F(PlotTest, RowsAndScriptsOfEveryKind) {
  for (const PlotKind& kind : PlotKinds()) {
    const Plot plot = Made({.sweep = "s", .kind = kind.name});
    ExpectGolden("plot-" + kind.name + ".csv", RenderCsv(plot.rows));
    ExpectGolden("plot-" + kind.name + ".gp", GnuplotScript(plot, PictureFormat::kSvg));
  }
}

TEST_F(PlotTest, EveryKindIsDrawn) {
  if (!HasGnuplot()) GTEST_SKIP() << "there is no gnuplot";
  for (const PlotKind& kind : PlotKinds()) {
    SCOPED_TRACE(kind.name);
    const Plot plot = Made({.sweep = "s", .kind = kind.name});
    const std::string svg = Svg(plot);
    EXPECT_THAT(svg, AllOf(StartsWith("<?xml"), HasSubstr("</svg>"), HasSubstr("font-weight"),
                           Not(HasSubstr("<script")), Not(HasSubstr("<title>"))));
    if (kind.name != "curve" && kind.name != "frequencies") continue;
    EXPECT_THAT(*DrawPicture(plot, PictureFormat::kPng), StartsWith("\x89PNG"));
    EXPECT_THAT(*DrawPicture(plot, PictureFormat::kPdf), StartsWith("%PDF"));
  }
}

TEST_F(PlotTest, NamesAreTextWhateverTheyHold) {
  if (!HasGnuplot()) GTEST_SKIP() << "there is no gnuplot";
  for (const char* kind : {"curve", "frequencies", "heads", "tokens"}) {
    SCOPED_TRACE(kind);
    const std::string svg = Svg(Made({.sweep = "s", .kind = kind, .variants = {kNasty, "RoPE"}}));
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
    if (std::string(kind) == "tokens") continue;  // it shows RoPE
    EXPECT_THAT(svg, HasSubstr("\"; `id` &lt;script>_{@a}%d"));
  }
}

TEST_F(PlotTest, FrequenciesByHeadAndTensor) {
  const Plot plot = Made({.sweep = "s", .kind = "frequencies", .variants = {"RoPE"}, .layer = 1});
  ASSERT_EQ(plot.rows.rows.size(), 8u);  // 2 heads, 4 pairs
  EXPECT_EQ(plot.rows.rows[0][10], QueryValue(3.5));
  EXPECT_EQ(plot.rows.rows[3][10], QueryValue(3.0));
  EXPECT_THAT(plot.script, HasSubstr("head of layer 1"));
  const Plot first = Made({.sweep = "s", .kind = "frequencies", .variants = {"RoPE"}, .step = 0});
  EXPECT_EQ(first.rows.rows[0][10], QueryValue(1.5));
  const Plot without = Made({.sweep = "s", .kind = "frequencies", .without_first = true});
  EXPECT_EQ(without.rows.rows[0][10], QueryValue(9.0));
  const Plot keys = Made({.sweep = "s", .kind = "frequencies", .tensor = "k"});
  EXPECT_EQ(keys.rows.rows[3][10], QueryValue(4.0));
}

TEST_F(PlotTest, StatisticsThatAreNotThereAreSaid) {
  EXPECT_THAT(Make({.sweep = "s", .kind = "frequencies", .step = 1}).status().message(),
              HasSubstr("no statistics of step 1; there are those of 0, 2"));
  EXPECT_THAT(Make({.sweep = "s", .kind = "frequencies", .layer = 2}).status().message(),
              HasSubstr("no layer 2; there are 0 to 1"));
  EXPECT_THAT(Make({.sweep = "s", .kind = "tokens", .head = 5}).status().message(),
              HasSubstr("no head 5; each layer has 0 to 1"));
  Sql("UPDATE head_scores SET diagonal = NULL");
  EXPECT_THAT(Make({.sweep = "s", .kind = "heads"}).status().message(),
              HasSubstr("none of the values is finite"));
  Sql("DELETE FROM frequency_norms; DELETE FROM token_norms; DELETE FROM attention_maps;"
      " DELETE FROM head_scores; DELETE FROM logit_shares");
  for (const char* kind : {"frequencies", "contributions", "tokens", "heads"}) {
    const Status status = Make({.sweep = "s", .kind = kind}).status();
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), HasSubstr("in statistics.collect"));
  }
}

TEST_F(PlotTest, AnOlderDatabaseIsSaid) {
  Sql("PRAGMA user_version = 2");
  for (const char* kind : {"frequencies", "heads"}) {
    EXPECT_THAT(Make({.sweep = "s", .kind = kind}).status().message(),
                HasSubstr("the database is older than statistics"));
  }
  EXPECT_TRUE(Make({.sweep = "s", .kind = "curve"}).ok());
}

TEST_F(PlotTest, APretrainedModelIsDrawnAsASweep) {
  for (const int id : {1, 2}) {
    const std::string model = std::to_string(id);
    Sql("INSERT INTO models (id, path, hash, config, name, variant, rotation, context, tokens) "
        "VALUES (" +
        model + ", '/m', 'h" + model +
        R"(', '{"model": {"num_key_value_heads": 1}, "data": {"context": 64}}', 'model', 'text )" +
        model + R"(', '[{"frequencies": [1, 0.1, 0.01, 0]}]', 64, 4096))");
    Sql("INSERT INTO frequency_norms (model_id, step, tokens, layer, tensor, head, norms) VALUES "
        "(" +
        model + ", 0, 4096, 0, 'q', 0, '[1, 2, 7, 4]')");
    Sql("INSERT INTO logit_shares (model_id, step, tokens, layer, head, contributions, shares) "
        "VALUES (" +
        model + ", 0, 4096, 0, 0, '[1, 1, 2, 4]', '[0.125, 0.125, 0.25, 0.5]')");
    Sql("INSERT INTO head_scores (model_id, step, tokens, layer, head, diagonal, previous, first, "
        "entropy, distance) VALUES (" +
        model + ", 0, 4096, 0, 0, 0.1, 0.9, 0.1, 1, 1)");
  }
  const Plot norms = Made({.sweep = "model", .kind = "frequencies"});
  ASSERT_EQ(norms.rows.rows.size(), 8u);
  EXPECT_EQ(norms.rows.rows[2][0], QueryValue(std::string("model")));
  EXPECT_EQ(norms.rows.rows[2][1], QueryValue(std::string("text 1")));
  EXPECT_EQ(norms.rows.rows[2][7], QueryValue(0.01));
  EXPECT_EQ(norms.rows.rows[2][10], QueryValue(7.0));
  EXPECT_THAT(norms.script, HasSubstr("windows of text (4.1k tokens)"));
  EXPECT_EQ(
      Made({.sweep = "model", .kind = "contributions", .variants = {"text 2"}}).rows.rows.size(),
      4u);
  const Plot heads = Made({.sweep = "model", .kind = "heads"});
  EXPECT_EQ(heads.rows.rows[0][5], QueryValue(std::string("positional")));
  EXPECT_EQ(heads.rows.rows[0][6], QueryValue(1.0));
  EXPECT_THAT(Make({.sweep = "model", .kind = "tokens"}).status().message(),
              HasSubstr("analyse it again with --collect token_norms"));
  Sql("INSERT INTO attention_maps (model_id, step, tokens, layer, head, weights) VALUES "
      "(2, 0, 4096, 0, 0, '[[1, 0], [0.25, 0.75]]')");
  for (const char* tensor : {"q", "k"}) {
    Sql(std::string("INSERT INTO token_norms (model_id, step, tokens, layer, tensor, head, norms) "
                    "VALUES (2, 0, 4096, 0, '") +
        tensor + "', 0, '[[1, 2, 3, 4], [5, 6, 7, 8]]')");
  }
  const Plot tokens = Made({.sweep = "model", .kind = "tokens"});
  EXPECT_EQ(tokens.rows.rows.size(), 20u);
  EXPECT_EQ(tokens.rows.rows[0][1], QueryValue(std::string("text 2")));
  const Status curve = Make({.sweep = "model", .kind = "curve"}).status();
  EXPECT_EQ(curve.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(curve.message(), HasSubstr("model is a pretrained model"));
  EXPECT_THAT(Make({.sweep = "none", .kind = "heads"}).status().message(),
              HasSubstr("there are: s, model"));
}

TEST_F(PlotTest, EndsWithoutValuesAreSaid) {
  Sql("UPDATE jobs SET state = 'FAILED'");
  for (const char* kind : {"p", "grid", "positions", "contexts", "interventions"}) {
    EXPECT_EQ(Make({.sweep = "s", .kind = kind}).status().code(), StatusCode::kFailedPrecondition);
  }
  Sql("UPDATE jobs SET state = 'SUCCEEDED', diverged_at_step = 1");
  EXPECT_THAT(Make({.sweep = "s", .kind = "p"}).status().message(),
              HasSubstr("has finished without diverging"));
  EXPECT_THAT(Made({.sweep = "s", .kind = "curve"}).script, HasSubstr("RoPE (diverged)"));
}

TEST_F(PlotTest, OneSeedHasNoBands) {
  Sql("UPDATE jobs SET state = 'FAILED' WHERE seed = 1");
  const Plot plot = Made({.sweep = "s", .kind = "p"});
  EXPECT_THAT(plot.script, AllOf(Not(HasSubstr("yerrorbars")), HasSubstr("One seed a variant")));
  EXPECT_EQ(plot.notes.size(), 5u);  // ALiBi is in no series
  for (const auto& row : plot.rows.rows) EXPECT_EQ(row[11], QueryValue());
}

}  // namespace
}  // namespace gyre
