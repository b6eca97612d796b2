// From job to job: export to a Hugging Face folder, and training that starts from a checkpoint or
// from such a folder, as a user has it.

#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "tests/cli/gyre_process.h"
#include "tests/trainer/data/temporary_home.h"
#include "tests/trainer/pretrained/gguf_of_folder.h"
#include "trainer/commands.h"

namespace gyre {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ConvertTest : public TemporaryHomeTest {
 protected:
  ConvertTest() {
    std::string text;
    for (int i = 0; i < 400; ++i) text += "the " + std::to_string(i * i % 97) + " cats sat.\n";
    Write("text.txt", text);
    Write("base.yaml",
          Sweep("base",
                "  model: {num_hidden_layers: 1, hidden_size: 32, intermediate_size: 64, "
                "num_attention_heads: 2}\n  position: {theta: 500}\n",
                "RoPE: {}\n  low: {position: {p: 0.5, keep: low}}\n"));
  }
  static std::string Sweep(const std::string& name, const std::string& base,
                           const std::string& variants) {
    return "sweep: " + name + "\nbase:\n" + base +
           "  data: {train: text.txt, context: 32}\n"
           "  train: {tokens: 2048, batch_tokens: 256}\nvariants:\n  " +
           variants;
  }
  GyreResult Run(const std::vector<std::string>& arguments) {
    return RunGyre(arguments, {home_, {"GYRE_HOME=" + Path("gyre"), "PATH=/usr/bin:/bin"}});
  }
  // Values of the first evaluation and the last, by variant.
  double Value(const std::string& sweep, const std::string& variant, const std::string& metric,
               int step) {
    const GyreResult result =
        Run({"query",
             "SELECT value FROM curves WHERE sweep = '" + sweep + "' AND variant = '" + variant +
                 "' AND metric = '" + metric + "' AND step = " + std::to_string(step),
             "--db", "results.db", "--format", "json"});
    EXPECT_EQ(result.exit_code, 0) << result.error;
    const auto rows = nlohmann::json::parse(result.output)["rows"];
    EXPECT_EQ(rows.size(), 1u) << result.output;
    return rows.empty() ? 0 : rows[0][0].get<double>();
  }
};

TEST_F(ConvertTest, AJobGoesOnFromAnotherAndFromItsExport) {
  const GyreResult base = Run({"run", "base.yaml"});
  ASSERT_EQ(base.exit_code, 0) << base.error;

  const GyreResult exported = Run({"export", "base/RoPE/0", "-o", "model", "--db", "results.db"});
  ASSERT_EQ(exported.exit_code, 0) << exported.error;
  EXPECT_THAT(exported.error, HasSubstr("at step 8 is in model"));
  EXPECT_THAT(*ReadFile(home_ / "model/README.md"),
              AllOf(HasSubstr("base / RoPE / seed 0"), HasSubstr("text.txt"),
                    HasSubstr("text/perplexity")));
  // Evaluated as the job was, the export gives what the job gave.
  std::string held_out;
  const auto datasets =
      nlohmann::json::parse(Run({"data", "list", "--format", "json"}).output)["rows"];
  for (const auto& row : datasets) {
    if (row[0].get<std::string>().ends_with("/validation")) held_out = row[4].get<std::string>();
  }
  std::ostringstream out, err;
  EXPECT_EQ(
      EvalCommand({Path("model"), "--dataset", held_out, "--home", Path("gyre"), "--context", "32"},
                  out, err),
      0)
      << err.str();
  char expected[64];
  std::snprintf(expected, sizeof expected, "loss %.6f nats", Value("base", "RoPE", "text/loss", 8));
  EXPECT_THAT(out.str(), HasSubstr(expected));
  const GyreResult low = Run({"export", "base/low/0", "-o", "low", "--db", "results.db"});
  ASSERT_EQ(low.exit_code, 0) << low.error;
  EXPECT_THAT(low.error, HasSubstr("transformers cannot compute this model: it does not know "
                                   "frequencies without the highest"));
  EXPECT_EQ(Run({"export", "base/RoPE/0", "-o", "model", "--db", "results.db"}).exit_code, 1);
  EXPECT_EQ(Run({"export", "base/RoPE/9", "-o", "new", "--db", "results.db"}).exit_code, 1);
  EXPECT_EQ(Run({"export", "nothing", "-o", "new", "--db", "results.db"}).exit_code, 2);

  Write("next.yaml", Sweep("next", "",
                           "job: {train: {init_from: 'checkpoint:base/RoPE/0'}}\n"
                           "  folder: {train: {init_from: model}}\n"
                           "  converted: {train: {init_from: model}, position: {p: 0.5}}\n"));
  const GyreResult plan = Run({"plan", "next.yaml"});
  EXPECT_EQ(plan.exit_code, 0) << plan.error;
  const GyreResult next = Run({"run", "next.yaml"});
  ASSERT_EQ(next.exit_code, 0) << next.error;
  const double end = Value("base", "RoPE", "text/loss_sample", 8);
  EXPECT_EQ(Value("next", "job", "text/loss_sample", 0), end);
  EXPECT_EQ(Value("next", "folder", "text/loss_sample", 0), end);
  EXPECT_NE(Value("next", "converted", "text/loss_sample", 0), end);
  EXPECT_EQ(Value("next", "job", "text/loss", 8), Value("next", "folder", "text/loss", 8));
  // The same weights are the same work: nothing is trained again.
  EXPECT_EQ(Run({"run", "next.yaml"}).exit_code, 0);

  Write("large.yaml",
        Sweep("large", "", "a: {train: {init_from: model}, data: {tokenizer: {ids: 300}}}\n"));
  EXPECT_THAT(Run({"plan", "large.yaml"}).error,
              AllOf(HasSubstr("must hold the tokenizer's 301 tokens, and is 257"),
                    HasSubstr("a .bin file, with tokenizer: {ids: 257}")));

  // As GGUF the pairs of queries and keys are side by side, and nothing else differs.
  const auto folder = PretrainedFolder::Open(Path("model"));
  ASSERT_TRUE(folder.ok()) << folder.status();
  Write("model.gguf", AsGguf(*folder));
  Write("gguf.yaml", Sweep("gguf", "",
                           "as-it-is: {train: {init_from: model.gguf, tokens: 0}}\n"
                           "  half: {train: {init_from: model.gguf, tokens: 0}, "
                           "position: {pairing: half}}\n"));
  EXPECT_THAT(Run({"plan", "gguf.yaml"}).output,
              HasSubstr("to read each whole validation set once comes on top"));
  const GyreResult gguf = Run({"run", "gguf.yaml"});
  ASSERT_EQ(gguf.exit_code, 0) << gguf.error;
  EXPECT_NEAR(Value("gguf", "as-it-is", "text/loss_sample", 0), end, 1e-5);
  EXPECT_GT(std::abs(Value("gguf", "half", "text/loss_sample", 0) - end), 5e-5);
}

TEST_F(ConvertTest, WhatCannotBeStartedFromIsRefusedBeforeAnythingIsQueued) {
  Write("next.yaml", Sweep("next", "", "a: {train: {init_from: 'checkpoint:7'}}\n"));
  const GyreResult nobody = Run({"run", "next.yaml"});
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_THAT(nobody.error, HasSubstr("next.yaml:6:26: error: train.init_from: there is no job 7"));
  Write("next.yaml", Sweep("next", "", "a: {train: {init_from: nowhere}}\n"));
  const GyreResult nowhere = Run({"plan", "next.yaml"});
  EXPECT_EQ(nowhere.exit_code, 2);
  EXPECT_THAT(nowhere.error, HasSubstr("nowhere/config.json"));
  // Before anything is made of the sizes that it claims.
  const std::string model = "tests/trainer/reference/llama-rope";
  auto config = nlohmann::json::parse(*ReadFile(model + "/config.json"));
  config["head_dim"] = 2147483646;
  std::filesystem::create_directories(home_ / "huge");
  std::filesystem::copy(model + "/model.safetensors", home_ / "huge/model.safetensors");
  Write("huge/config.json", config.dump());
  Write("next.yaml",
        "sweep: next\nbase:\n  data: {train: text.txt, context: 32}\n"
        "  train: {init_from: huge, tokens: 0}\nvariants: {a: {}}\n");
  const GyreResult huge = Run({"plan", "next.yaml"});
  EXPECT_EQ(huge.exit_code, 2);
  EXPECT_THAT(huge.error, HasSubstr("model.head_dim must be between 1 and"));
}

}  // namespace
}  // namespace gyre
