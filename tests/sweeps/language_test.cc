// What a right sweep means. What wrong ones get is in cases/ and golden/.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sweeps/sweep_text.h"
#include "trainer/data/dataset.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char kHead[] = "sweep: t\nbase:\n  data: {train: corpus:austen}\n";

std::string With(const std::string& rest) { return kHead + rest; }

JobConfig ConfigOf(const std::string& rest) {
  const SweepSpec sweep = ParseOne(With(rest));
  return sweep.variants.empty() ? JobConfig() : sweep.variants.front().config;
}

std::vector<std::string> Names(const SweepSpec& sweep) {
  std::vector<std::string> names;
  for (const Variant& variant : sweep.variants) names.push_back(variant.name);
  return names;
}

std::string Case(const std::string& name) {
  const auto text = ReadFile("tests/sweeps/cases/" + name + ".yaml");
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? *text : "";
}

// The "where" of the case files.
TEST(CasesTest, HuggingFacePartial) {
  const EncodingConfig position = ParseOne(Case("hf-partial")).variants[0].config.position.common;
  EXPECT_EQ(position.p, 0.25);
  EXPECT_EQ(position.spacing, "respaced");
  EXPECT_EQ(position.theta, 10000);
}

TEST(CasesTest, HuggingFaceProportional) {
  const EncodingConfig position =
      ParseOne(Case("hf-proportional")).variants[0].config.position.common;
  EXPECT_EQ(position.p, 0.25);
  EXPECT_EQ(position.keep, "high");
  EXPECT_EQ(position.spacing, "full");
  EXPECT_EQ(position.theta, 1e6);
}

TEST(CasesTest, NoRopeLayers) {
  const Variant variant = ParseOne(Case("no-rope-layers")).variants[0];
  ASSERT_EQ(variant.positions.size(), 4u);
  for (int layer = 0; layer < 4; ++layer) {
    EXPECT_EQ(variant.positions[layer].rotation.frequencies[0], layer < 3 ? 1.0 : 0.0) << layer;
  }
}

TEST(CasesTest, TwinsAreNoted) {
  EXPECT_THAT(ParseOne(Case("identical-points")).notes, testing::Contains(HasSubstr("A, B")));
  EXPECT_THAT(ParseOne(Case("nope-theta")).notes,
              testing::Contains(HasSubstr("theta=10000, theta=500000")));
}

TEST(CasesTest, Numbers) {
  const SweepSpec rates = ParseOne(Case("scientific-notation"));
  EXPECT_THAT(Names(rates), ElementsAre("lr=0.0001", "lr=0.0003", "lr=0.001"));
  EXPECT_EQ(rates.variants[1].config.train.optimizer.lr, 0.0003);
  const JobConfig suffixes = ParseOne(Case("tokens-suffix")).variants[0].config;
  EXPECT_EQ(suffixes.train.tokens, 20000000);
  EXPECT_EQ(suffixes.train.batch_tokens, 16384);
  EXPECT_EQ(suffixes.data.context, 1024);
  EXPECT_EQ(ParseOne(Case("percent")).variants[0].config.position.common.p, 0.75);
  EXPECT_EQ(ParseOne(Case("int-as-float")).variants[0].config.model.num_hidden_layers, 4);
}

TEST(CasesTest, TwoDocumentsAreTwoSweeps) {
  const ParsedSweeps parsed = Parse(Case("two-documents"));
  ASSERT_EQ(parsed.sweeps.size(), 2u);
  EXPECT_EQ(parsed.sweeps[0].name, "first-half");
  EXPECT_EQ(parsed.sweeps[0].jobs.size(), 1u);
  EXPECT_EQ(parsed.sweeps[1].name, "second-half");
  EXPECT_EQ(parsed.sweeps[1].jobs.size(), 2u);
}

TEST(CasesTest, NamesComeBackAsWritten) {
  const SweepSpec sweep = ParseOne(Case("unicode"));
  EXPECT_THAT(Names(sweep), ElementsAre("θ=10k", "θ=500k <script>alert(1)</script>"));
  EXPECT_EQ(sweep.description, "θ und <b>p</b>, «кириллица», 日本語");
}

TEST(DefaultsTest, OfTheSmallestSweep) {
  const SweepSpec sweep = ParseOne(With(""));
  EXPECT_THAT(Names(sweep), ElementsAre("base"));
  EXPECT_THAT(sweep.seeds, ElementsAre(0));
  EXPECT_THAT(sweep.baselines, ElementsAre(-1));
  EXPECT_EQ(sweep.resources.cpus, 1);
  EXPECT_EQ(sweep.resources.gpus, 0);
  EXPECT_EQ(sweep.retry_attempts, 3);
  EXPECT_EQ(sweep.retry_backoff_ms, 10000);
  EXPECT_EQ(sweep.timeout_ms, 0);
  const JobConfig& config = sweep.variants[0].config;
  EXPECT_EQ(config.model.vocab_size, 257);
  EXPECT_EQ(config.model.num_key_value_heads, config.model.num_attention_heads);
  EXPECT_EQ(config.model.head_dim, config.model.hidden_size / config.model.num_attention_heads);
  EXPECT_EQ(config.data.context, 512);
  EXPECT_EQ(config.data.tokenizer, "bytes");
  EXPECT_EQ(config.data.validation, (Json{{"austen", "corpus:austen/validation"}}));
  EXPECT_EQ(config.train.precision, "float32");
  EXPECT_EQ(config.train.schedule.warmup_tokens, config.train.tokens / 50);
  EXPECT_EQ(config.train.checkpoint_every, config.train.tokens / 10);
  EXPECT_EQ(config.evaluate.every, config.train.tokens / 20);
  EXPECT_EQ(config.statistics.every, config.train.tokens / 4);
  EXPECT_EQ(config.statistics.sequences, 16);
  EXPECT_EQ(config.statistics.collect,
            (std::vector<std::string>{kFrequencyNorms, kLogitShares, kHeadScores}));
  EXPECT_EQ(config.train.batch_tokens % config.data.context, 0);
}

// A job's configuration is a sweep's base: what `plan` shows can be run again.
TEST(DefaultsTest, APlannedConfigurationIsABaseAgain) {
  for (const char* rest :
       {"",
        "  position: {p: 0.75, keep: low, scaling: {type: yarn, factor: 4, "
        "original_max_position_embeddings: 64}}\n",
        "  position: {layers: [{layers: [0, 2-last], type: nope, sliding_window: 12}]}\n",
        "  model: {sliding_window: 99, layer_types: [full_attention, sliding_attention, "
        "full_attention, "
        "full_attention]}\n",
        "  position: {band: [3, 7]}\n", "  model: {mlp: plain}\n  train: {precision: bf16}\n",
        "  statistics: {every: 1M, sequences: 3, collect: [token_norms]}\n",
        "  statistics: {collect: []}\n"}) {
    const Json config = ToJson(ConfigOf(rest));
    const SweepSpec again = ParseOne("sweep: t\nbase: " + config.dump() + "\n");
    EXPECT_EQ(ToJson(again.variants[0].config).dump(1), config.dump(1));
  }
}

TEST(DefaultsTest, FollowWhatIsGiven) {
  const JobConfig config = ConfigOf(
      "  model: {hidden_size: 96, num_attention_heads: 6}\n"
      "  train: {tokens: 1000}\n");
  EXPECT_EQ(config.model.head_dim, 16);
  EXPECT_EQ(config.model.num_key_value_heads, 6);
  EXPECT_EQ(config.model.intermediate_size, 384);
  EXPECT_EQ(config.train.schedule.warmup_tokens, 20);
  EXPECT_EQ(config.evaluate.every, 50);
  const SweepSpec long_context =
      ParseOne("sweep: t\nbase: {data: {train: corpus:austen, context: 100000}}\n");
  EXPECT_EQ(long_context.variants[0].config.train.batch_tokens, 100000);
}

TEST(MergeTest, DefaultsBelowBaseBelowVariantBelowGrid) {
  const SweepSpec sweep =
      ParseOne(With("  train: {optimizer: {lr: 1e-4, eps: 1e-6}}\n"
                    "variants:\n  A: {}\n  B: {train: {optimizer: {lr: 2e-4}}}\n"
                    "grid: {train.optimizer.lr: [3e-4]}\n"));
  EXPECT_THAT(Names(sweep), ElementsAre("A lr=0.0003", "B lr=0.0003"));
  EXPECT_EQ(sweep.variants[1].config.train.optimizer.lr, 3e-4);
  EXPECT_EQ(sweep.variants[1].config.train.optimizer.eps, 1e-6);
  EXPECT_EQ(sweep.variants[1].config.train.optimizer.weight_decay, 0.1);
  EXPECT_THAT(sweep.notes, testing::Contains("grid overwrites train.optimizer.lr of B"));
}

TEST(MergeTest, NullUnsets) {
  const SweepSpec sweep =
      ParseOne(With("  position: {p: 0.5, scaling: {type: linear, factor: 2}}\n"
                    "variants:\n  A: {position: {p: null}}\n  B: {position: {scaling: null}}\n"));
  EXPECT_EQ(sweep.variants[0].config.position.common.p, 1);
  EXPECT_EQ(sweep.variants[0].config.position.common.scaling.type, "linear");
  EXPECT_EQ(sweep.variants[1].config.position.common.p, 0.5);
  EXPECT_EQ(sweep.variants[1].config.position.common.scaling.type, "none");
}

TEST(MergeTest, ValidationSetsAddUp) {
  const SweepSpec sweep = ParseOne(
      "sweep: t\nbase: {data: {train: corpus:austen, validation: {a: a.txt, b: b.txt}}}\n"
      "variants:\n  A: {data: {validation: {c: c.txt, b: null}}}\n");
  EXPECT_EQ(sweep.variants[0].config.data.validation,
            (Json{{"a", "/sweeps/a.txt"}, {"c", "/sweeps/c.txt"}}));
}

TEST(MergeTest, MergeKeysAndAliases) {
  const SweepSpec sweep =
      ParseOne(With("variants:\n"
                    "  A: &a {position: &p {p: 0.5, theta: 500}}\n"
                    "  B: {<<: *a, train: {tokens: 1M}}\n"
                    "  C: {position: {<<: *p, p: 0.25}}\n"
                    "  D: {position: {<<: [*p, {keep: low}]}}\n"));
  EXPECT_EQ(sweep.variants[1].config.position.common.p, 0.5);
  EXPECT_EQ(sweep.variants[1].config.train.tokens, 1000000);
  EXPECT_EQ(sweep.variants[2].config.position.common.p, 0.25);
  EXPECT_EQ(sweep.variants[2].config.position.common.theta, 500);
  EXPECT_EQ(sweep.variants[3].config.position.common.keep, "low");
}

TEST(GridTest, NamesInTheFilesOrderLastAxisFastest) {
  const SweepSpec sweep =
      ParseOne(With("variants: {X: {}, Y: {position: {type: nope}}}\n"
                    "grid: {train.optimizer.lr: [1e-3, 1e-2], data.context: [512, 1Ki]}\n"));
  EXPECT_THAT(Names(sweep), ElementsAre("X lr=0.001 context=512", "X lr=0.001 context=1024",
                                        "X lr=0.01 context=512", "X lr=0.01 context=1024",
                                        "Y lr=0.001 context=512", "Y lr=0.001 context=1024",
                                        "Y lr=0.01 context=512", "Y lr=0.01 context=1024"));
}

TEST(GridTest, Ranges) {
  const SweepSpec sweep =
      ParseOne(With("grid: {train.optimizer.lr: {log_range: [3e-4, 3e-3], count: 3}}\n"));
  EXPECT_THAT(Names(sweep), ElementsAre("lr=0.0003", "lr=0.000948683", "lr=0.003"));
  EXPECT_NEAR(sweep.variants[1].config.train.optimizer.lr, 9.486832980505138e-4, 1e-16);
  EXPECT_EQ(sweep.variants[2].config.train.optimizer.lr, 3e-3);
  EXPECT_THAT(Names(ParseOne(With("grid: {position.p: {range: [0, 1], count: 5}}\n"))),
              ElementsAre("p=0", "p=0.25", "p=0.5", "p=0.75", "p=1"));
  EXPECT_THAT(Names(ParseOne(With("grid: {model.num_hidden_layers: {range: [2, 6], count: 3}}\n"))),
              ElementsAre("num_hidden_layers=2", "num_hidden_layers=4", "num_hidden_layers=6"));
  EXPECT_THAT(Names(ParseOne(With("grid: {position.theta: {range: [1000, 2000], count: 1}}\n"))),
              ElementsAre("theta=1000"));
}

TEST(GridTest, OtherValuesThanNumbers) {
  const SweepSpec sweep =
      ParseOne(With("grid: {position.type: [rope, nope], model.qk_norm: [true], "
                    "train.optimizer.betas: [[0.9, 0.95]], "
                    "model.sliding_window: [null, 64]}\n"));
  EXPECT_EQ(sweep.variants[1].name, "type=rope qk_norm=true betas=[0.9,0.95] sliding_window=64");
  EXPECT_EQ(sweep.variants[1].config.model.sliding_window, 64);
  EXPECT_EQ(sweep.variants[0].config.model.sliding_window, 0);
}

TEST(GridTest, HuggingFaceSpellings) {
  const SweepSpec sweep = ParseOne(
      With("grid: {position.partial_rotary_factor: [0.25, 0.5], model.rope_theta: [500]}\n"));
  EXPECT_EQ(sweep.variants[1].name, "partial_rotary_factor=0.5 rope_theta=500");
  EXPECT_EQ(sweep.variants[1].config.position.common.p, 0.5);
  EXPECT_EQ(sweep.variants[1].config.position.common.spacing, "respaced");
  EXPECT_EQ(sweep.variants[1].config.position.common.theta, 500);
}

TEST(ExcludeTest, MatchesWrittenValuesAndDefaults) {
  const SweepSpec sweep =
      ParseOne(With("variants: {A: {}, B: {position: {type: nope}}}\n"
                    "grid: {train.optimizer.lr: [1e-3, 1e-2], data.context: [512, 1024]}\n"
                    "exclude:\n"
                    "  - {position.type: rope, train.optimizer.lr: 0.01}\n"
                    "  - {model.head_dim: 64, data.context: 1Ki, position.type: nope}\n"
                    "  - {position.scaling.type: yarn}\n"));
  EXPECT_THAT(Names(sweep), ElementsAre("A lr=0.001 context=512", "A lr=0.001 context=1024",
                                        "B lr=0.001 context=512", "B lr=0.01 context=512"));
  EXPECT_THAT(sweep.notes, testing::Contains(HasSubstr("line 9 matches no point")));
}

TEST(ExcludeTest, AnExcludedPointMayBeImpossible) {
  const SweepSpec sweep = ParseOne(
      With("grid: {train.batch_tokens: [1000, 1024]}\nexclude: [{train.batch_tokens: 1000}]\n"));
  EXPECT_THAT(Names(sweep), ElementsAre("batch_tokens=1024"));
}

TEST(SeedsTest, ListsAndCounts) {
  EXPECT_THAT(ParseOne(With("seeds: 3\n")).seeds, ElementsAre(0, 1, 2));
  EXPECT_THAT(ParseOne(With("seeds: 2.0\n")).seeds, ElementsAre(0, 1));
  EXPECT_THAT(ParseOne(With("seeds: [7, 3]\n")).seeds, ElementsAre(7, 3));
  EXPECT_THAT(ParseOne(With("seeds: [9223372036854775807]\n")).seeds,
              ElementsAre(9223372036854775807u));
}

TEST(JobsTest, SeedBySeed) {
  const SweepSpec sweep =
      ParseOne(With("variants: {A: {}, B: {position: {type: nope}}}\nseeds: [5, 6]\n"));
  std::vector<std::pair<int, uint64_t>> jobs;
  for (const Job& job : sweep.jobs) jobs.emplace_back(job.variant, job.seed);
  EXPECT_THAT(jobs,
              ElementsAre(std::pair(0, 5), std::pair(1, 5), std::pair(0, 6), std::pair(1, 6)));
}

TEST(BaselineTest, AtTheSameGridValues) {
  const SweepSpec sweep =
      ParseOne(With("variants: {A: {}, B: {position: {type: nope}}}\ngrid: {train.optimizer.lr: "
                    "[1e-3, 1e-2]}\nbaseline: A\n"));
  EXPECT_THAT(sweep.baselines, ElementsAre(-1, -1, 0, 1));
}

TEST(BaselineTest, AFullNameIsOnePoint) {
  const SweepSpec sweep = ParseOne(With(
      "variants: {A: {}, B: {position: {type: nope}}}\ngrid: {train.optimizer.lr: [1e-3, 1e-2]}\n"
      "baseline: A lr=0.01\n"));
  EXPECT_THAT(sweep.baselines, ElementsAre(1, -1, 1, 1));
  EXPECT_THAT(ParseOne(With("grid: {position.p: [0, 1]}\nbaseline: p=1\n")).baselines,
              ElementsAre(1, -1));
}

TEST(BaselineTest, ExcludedAtSomePlaces) {
  const SweepSpec sweep = ParseOne(With(
      "variants: {A: {}, B: {position: {type: nope}}}\ngrid: {train.optimizer.lr: [1e-3, 1e-2]}\n"
      "exclude: [{position.type: rope, train.optimizer.lr: 1e-2}]\nbaseline: A\n"));
  EXPECT_THAT(sweep.baselines, ElementsAre(-1, 0, -1));
  EXPECT_THAT(sweep.notes, testing::Contains(HasSubstr("nothing to be compared with")));
}

TEST(PositionTest, LayersOverrideTheCommonEncoding) {
  const JobConfig config = ConfigOf(
      "  model: {num_hidden_layers: 6, sliding_window: 100}\n"
      "  position: {theta: 500, layers: [{layers: [0, 2-3], type: nope}, {layers: last, theta: 9, "
      "p: 50%, "
      "sliding_window: null}, {layers: 4, sliding_window: 7}]}\n");
  ASSERT_EQ(config.position.layers.size(), 6u);
  EXPECT_EQ(config.position.layers[0].type, "nope");
  EXPECT_EQ(config.position.layers[1].type, "rope");
  EXPECT_EQ(config.position.layers[3].type, "nope");
  EXPECT_EQ(config.position.layers[5].theta, 9);
  EXPECT_EQ(config.position.layers[5].p, 0.5);
  EXPECT_EQ(config.position.layers[1].theta, 500);
  EXPECT_THAT(config.position.windows, ElementsAre(100, 100, 100, 100, 7, 0));
}

TEST(PositionTest, OverridesOfTheSameThingAreNone) {
  EXPECT_TRUE(
      ConfigOf("  position: {layers: [{layers: 0-last, type: rope}]}\n").position.layers.empty());
}

TEST(HuggingFaceTest, AWholeConfigJson) {
  const JobConfig config = ParseOne(Case("hf-config")).variants[0].config;
  EXPECT_EQ(config.model.hidden_size, 48);
  EXPECT_EQ(config.model.head_dim, 32);
  EXPECT_EQ(config.model.rms_norm_eps, 1e-5);
  EXPECT_EQ(config.position.common.theta, 500000);
  EXPECT_EQ(config.position.common.scaling.type, "llama3");
  EXPECT_EQ(config.position.common.scaling.factor, 8);
  EXPECT_EQ(config.position.common.scaling.original_max_position_embeddings, 256);
}

TEST(HuggingFaceTest, ParametersByLayerType) {
  const JobConfig config = ParseOne(Case("hf-mixed")).variants[0].config;
  ASSERT_EQ(config.position.layers.size(), 3u);
  EXPECT_EQ(config.position.layers[1].theta, 1e6);
  EXPECT_EQ(config.position.layers[1].p, 0.25);
  EXPECT_EQ(config.position.layers[1].spacing, "full");
  EXPECT_EQ(config.position.layers[2].theta, 10000);
  EXPECT_THAT(config.position.windows, ElementsAre(12, 0, 12));
}

TEST(HuggingFaceTest, OlderSpellings) {
  const EncodingConfig scaled =
      ConfigOf(
          "  model: {max_position_embeddings: 256, rope_scaling: {type: dynamic, factor: 2.0}}\n")
          .position.common;
  EXPECT_EQ(scaled.scaling.type, "dynamic");
  EXPECT_EQ(scaled.scaling.original_max_position_embeddings, 256);
  EXPECT_EQ(ConfigOf("  model: {rope_scaling: null, rope_theta: 77}\n").position.common.theta, 77);
  EXPECT_EQ(ConfigOf("  model: {alibi: true}\n").position.common.type, "alibi");
  const JobConfig interval = ConfigOf("  position: {no_rope_layer_interval: 2}\n");
  EXPECT_EQ(interval.position.layers[0].type, "rope");
  EXPECT_EQ(interval.position.layers[1].type, "nope");
  EXPECT_EQ(interval.position.layers[3].type, "nope");
  const EncodingConfig divided = ConfigOf(
                                     "  position: {rope_parameters: {rope_type: proportional, "
                                     "partial_rotary_factor: 0.5, factor: 8}}\n")
                                     .position.common;
  EXPECT_EQ(divided.scaling.type, "linear");
  EXPECT_EQ(divided.scaling.factor, 8);
  EXPECT_EQ(divided.spacing, "full");
}

TEST(HuggingFaceTest, AFactorAloneMeansWhatTheTypeBelowSays) {
  const SweepSpec sweep = ParseOne(Case("hf-variant-partial"));
  EXPECT_EQ(sweep.variants[1].config.position.common.p, 0.5);
  EXPECT_EQ(sweep.variants[1].config.position.common.spacing, "full");
}

TEST(DataTest, PathsAreRelativeToTheFile) {
  const JobConfig config = ParseOne(Case("relative-paths")).variants[0].config;
  EXPECT_EQ(config.data.train, (Json{"/sweeps/a.txt", "/b/*.txt", "/abs/c"}));
  EXPECT_EQ(config.data.validation["v"], "/sweeps/texts/");
  EXPECT_EQ(config.data.validation["w"], "corpus:austen/validation");
}

TEST(DataTest, TheHeldOutPartOfAFileIsNamedAfterIt) {
  const JobConfig config =
      ParseOne("sweep: t\nbase: {data: {train: texts/emma.txt}}\n").variants[0].config;
  EXPECT_EQ(config.data.validation, (Json{{"emma", "/sweeps/texts/emma.txt"}}));
}

TEST(DataTest, UsersOwnCorpora) {
  SpecOptions options = TestOptions();
  options.corpora = {"letters"};
  EXPECT_EQ(Diagnostics(ParseSweeps("sweep: t\nbase: {data: {train: corpus:letters}}\n", options)),
            "");
  EXPECT_THAT(Diagnostics(Parse("sweep: t\nbase: {data: {train: corpus:letters}}\n")),
              HasSubstr("no corpus 'letters'"));
}

TEST(DataTest, CorporaOfARequest) {
  EXPECT_THAT(CorporaIn(DatasetRequest{"corpus:letters", "train", "bytes", 0.05}.Key()),
              ElementsAre("letters"));
  EXPECT_THAT(CorporaIn(DatasetRequest{Json{"corpus:a", "/x.txt", "corpus:b/validation"}, "all",
                                       "bytes", 0.05}
                            .Key()),
              ElementsAre("a", "b"));
  EXPECT_THAT(CorporaIn("no key"), testing::IsEmpty());
}

TEST(DataTest, WithoutPreparedDataThereAreNoKeys) {
  SpecOptions options = TestOptions();
  options.dataset_hashes = [](const std::string&) { return std::nullopt; };
  const ParsedSweeps parsed =
      ParseSweeps(With("variants: {A: {}, B: {position: {p: 1}}}\n"), options);
  ASSERT_EQ(parsed.sweeps.size(), 1u);
  EXPECT_EQ(parsed.sweeps[0].jobs[0].key, "");
  EXPECT_EQ(parsed.sweeps[0].jobs[1].twin_of, 0);
  EXPECT_THAT(parsed.sweeps[0].notes,
              testing::Contains(HasSubstr("corpus:austen is not prepared")));
}

TEST(SweepTest, ResourcesAndTheLike) {
  const SweepSpec sweep = ParseOne(
      With("description: what\nquestion: why?\npriority: -3\nresources: {cpus: 2, memory: 4GiB}\n"
           "retry: {attempts: 5, backoff: 2m}\ntimeout: 2h\n"));
  EXPECT_EQ(sweep.question, "why?");
  EXPECT_EQ(sweep.priority, -3);
  EXPECT_EQ(sweep.resources.cpus, 2);
  EXPECT_EQ(sweep.resources.memory_bytes, int64_t{4} << 30);
  EXPECT_EQ(sweep.retry_attempts, 5);
  EXPECT_EQ(sweep.retry_backoff_ms, 120000);
  EXPECT_EQ(sweep.timeout_ms, 7200000);
}

// facebookresearch/DomainBed#111, #103: another seed drew other hyperparameters, too.
TEST(SweepTest, ASeedChangesNothingElse) {
  const SweepSpec one = ParseOne(With("grid: {train.optimizer.lr: [1e-3, 1e-2]}\nseeds: [3]\n"));
  const SweepSpec many =
      ParseOne(With("grid: {train.optimizer.lr: [1e-3, 1e-2]}\nseeds: [8, 3, 1]\n"));
  ASSERT_EQ(one.variants.size(), many.variants.size());
  for (size_t i = 0; i < one.variants.size(); ++i) {
    EXPECT_EQ(one.variants[i].name, many.variants[i].name);
    EXPECT_EQ(ToJson(one.variants[i].config), ToJson(many.variants[i].config));
  }
  EXPECT_EQ(one.jobs[0].key, many.jobs[2].key);
  EXPECT_EQ(one.jobs[1].key, many.jobs[3].key);
}

TEST(SweepTest, StopEarlyFillsInWhatIsNotSaid) {
  EXPECT_FALSE(ParseOne(With("")).stop_early.has_value());
  EXPECT_FALSE(ParseOne(With("stop_early: null\n")).stop_early.has_value());
  const SweepSpec sweep = ParseOne(With("stop_early: {}\n"));
  ASSERT_TRUE(sweep.stop_early.has_value());
  EXPECT_EQ(sweep.stop_early->rule, "asha");
  EXPECT_EQ(sweep.stop_early->metric, "austen/loss_sample");
  EXPECT_EQ(sweep.stop_early->grace, sweep.variants[0].config.train.tokens / 10);
  EXPECT_EQ(sweep.stop_early->reduction, 3);
}

TEST(SweepTest, MicroBatchesDivideTheBatch) {
  const JobConfig config = ConfigOf("  train: {batch_tokens: 16Ki}\n");
  const int64_t sequences = config.train.batch_tokens / config.data.context;
  EXPECT_GE(config.train.micro_batch, 1);
  EXPECT_EQ(sequences % config.train.micro_batch, 0);
  EXPECT_EQ(ConfigOf("  train: {micro_batch: auto}\n").train.micro_batch, config.train.micro_batch);
  EXPECT_EQ(ConfigOf("  train: {micro_batch: 3}\n").train.micro_batch, 3);
}

}  // namespace
}  // namespace gyre
