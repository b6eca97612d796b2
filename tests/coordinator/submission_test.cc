#include "coordinator/submission.h"

#include <gmock/gmock.h>

#include "coordinator/sweep_parser.h"

namespace gyre {
namespace {

using testing::HasSubstr;

SweepSpec TwoVariants() {
  SweepSpec spec;
  spec.name = "s";
  spec.seeds = {0};
  spec.baseline = "RoPE";
  spec.baselines = {-1, 0};
  for (const char* name : {"RoPE", "NoPE"}) {
    Variant variant;
    variant.name = name;
    variant.config.train.tokens = 5000;
    variant.config.model.num_hidden_layers = 1;
    variant.train_dataset = "train-hash";
    variant.validation_datasets = {{"austen", "validation-hash"}};
    LayerPosition layer;
    layer.rotation.frequencies = {1, 0.1};
    layer.rotation.pairs = {{0, 2}, {1, 3}};
    variant.positions = {layer};
    spec.variants.push_back(variant);
  }
  spec.variants[1].config.position.common.type = "nope";
  spec.jobs = {{0, 0, "key-0", std::nullopt}, {1, 0, "key-1", std::nullopt}};
  return spec;
}

Result<PreparedSubmission> Prepare(const SweepSpec& spec, const SubmitCall& call = {}) {
  return PrepareSubmission(
      call, [&](const std::string&, const SpecOptions&) -> Result<std::vector<SweepSpec>> {
        return std::vector<SweepSpec>{spec};
      });
}

TEST(Submission, ARotationShowsWhatItChangesTo) {
  SweepSpec spec = TwoVariants();
  PositionSwitch& change = spec.variants[0].config.position.switches.emplace_back();
  change.at = 3000;
  LayerPosition after = spec.variants[0].positions[0];
  after.rotation.frequencies = {1, 0};
  spec.variants[0].switched = {{after}};
  const auto submission = Prepare(spec);
  ASSERT_TRUE(submission.ok()) << submission.status();
  EXPECT_EQ(submission->sweeps[0].variants[0].rotation,
            R"([{"frequencies":[1.0,0.1],"attention_factor":1.0,"pairs":[[0,2],[1,3]],)"
            R"("switches":[{"at":3000,"frequencies":[1.0,0.0],"attention_factor":1.0,)"
            R"("pairs":[[0,2],[1,3]]}]}])");
}

TEST(Submission, WeightsOfAFolderAreThoseThatCame) {
  JobConfig pretrained;
  pretrained.model.num_hidden_layers = 3;
  pretrained.position.common.theta = 77;
  SubmitCall call;
  call.folder = "/sweeps";
  call.initial_weights["/models/x"] = {"weights-hash", 9, ToJson(pretrained).dump()};
  std::optional<InitialWeights> found;
  std::vector<std::string> refused;
  const auto look = [&](const std::string&,
                        const SpecOptions& options) -> Result<std::vector<SweepSpec>> {
    found = *options.initial_weights("/models/x");
    refused.push_back(options.initial_weights("/models/y").status().message());
    refused.push_back(options.initial_weights("checkpoint:9").status().message());
    SweepSpec spec = TwoVariants();
    spec.variants[0].config.train.init_from = "/models/x";
    spec.variants[0].initial_weights = found->hash;
    return std::vector<SweepSpec>{spec};
  };
  const auto submission = PrepareSubmission(call, look);
  ASSERT_TRUE(submission.ok()) << submission.status();
  EXPECT_EQ(found->model.num_hidden_layers, 3);
  EXPECT_EQ(found->position.common.theta, 77);
  EXPECT_THAT(refused[0], HasSubstr("/models/y did not come with the submission"));
  EXPECT_THAT(refused[1], HasSubstr("no database"));
  EXPECT_EQ(submission->sweeps[0].variants[0].record.initial_weights, "weights-hash");
  EXPECT_THAT(submission->sweeps[0].record.resolved, HasSubstr("weights-hash"));

  SweepSpec unknown = TwoVariants();
  unknown.variants[1].config.train.init_from = "/models/x";
  EXPECT_EQ(Prepare(unknown).status().code(), StatusCode::kFailedPrecondition);
}

// The encoding of a job that switched is the one at its checkpoint.
TEST(Submission, WeightsOfAJobComeFromTheDatabase) {
  JobConfig config;
  PositionSwitch& change = config.position.switches.emplace_back();
  change.at = 500;
  change.to.common.p = 0.75;
  const AskSql ask = [&](const std::string& sql) -> Result<QueryTable> {
    QueryTable table;
    if (sql.find("FROM checkpoints") != std::string::npos) {
      table.rows = {{"late", int64_t{6}, int64_t{600}, int64_t{7}},
                    {"early", int64_t{4}, int64_t{400}, int64_t{7}}};
    } else {
      table.rows = {{int64_t{9}, "s", "v", int64_t{0}, "RUNNING", "key", ToJson(config).dump(),
                     "train", "{}"}};
    }
    return table;
  };
  std::vector<InitialWeights> found;
  const auto look = [&](const std::string&,
                        const SpecOptions& options) -> Result<std::vector<SweepSpec>> {
    for (const char* name : {"checkpoint:9", "checkpoint:9@4"}) {
      const auto weights = options.initial_weights(name);
      EXPECT_TRUE(weights.ok()) << weights.status();
      found.push_back(**weights);
    }
    return std::vector<SweepSpec>{TwoVariants()};
  };
  ASSERT_TRUE(PrepareSubmission({}, look, ask).ok());
  EXPECT_EQ(found[0].hash, "late");
  EXPECT_EQ(found[0].position.common.p, 0.75);
  EXPECT_EQ(found[1].hash, "early");
  EXPECT_EQ(found[1].position.common.p, 1);
  EXPECT_TRUE(found[0].position.switches.empty());
  EXPECT_TRUE(found[1].position.switches.empty()) << "what that job did later is its own";
}

TEST(Submission, WeightsAndTextHaveOneTokenizer) {
  SweepSpec spec = TwoVariants();
  spec.variants[1].config.train.init_from = "checkpoint:9";
  spec.variants[1].initial_weights = "weights-hash";
  const auto read = [&](const std::string&, const SpecOptions&) -> Result<std::vector<SweepSpec>> {
    return std::vector<SweepSpec>{spec};
  };
  const AskSql ask = [](const std::string& sql) -> Result<QueryTable> {
    EXPECT_THAT(sql, HasSubstr("c.hash = 'weights-hash'"));
    QueryTable table;
    table.rows = {{std::string("bytes")}};
    return table;
  };
  SubmitCall call;
  call.datasets["request"].hash = spec.variants[1].train_dataset;
  call.datasets["request"].tokenizer = "bpe 1234";
  const Status refused = PrepareSubmission(call, read, ask).status();
  EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("tokenizer bytes, and its text has bpe 1234"));
  call.datasets["request"].tokenizer = "bytes";
  EXPECT_TRUE(PrepareSubmission(call, read, ask).ok());
}

TEST(Submission, VariantsBecomeRows) {
  const auto submission = Prepare(TwoVariants());
  ASSERT_TRUE(submission.ok()) << submission.status();
  const PreparedSweep& sweep = submission->sweeps[0];
  const PreparedVariant& rope = sweep.variants[0];
  EXPECT_EQ(rope.record.theta, 10000);
  EXPECT_EQ(rope.record.keep, "high");
  EXPECT_EQ(rope.baseline, -1);
  EXPECT_EQ(rope.tokens_budget, 5000);
  EXPECT_EQ(rope.parameters, ParameterCount(TwoVariants().variants[0].config.model));
  EXPECT_EQ(rope.rotation,
            R"([{"frequencies":[1.0,0.1],"attention_factor":1.0,"pairs":[[0,2],[1,3]]}])");
  EXPECT_EQ(rope.record.validation_datasets, R"({"austen":"validation-hash"})");
  const PreparedVariant& nope = sweep.variants[1];
  EXPECT_EQ(nope.record.position_type, "nope");
  EXPECT_EQ(nope.record.theta, std::nullopt);
  EXPECT_EQ(nope.record.p, std::nullopt);
  EXPECT_EQ(nope.baseline, 0);
  EXPECT_EQ(sweep.jobs.size(), 2u);
}

TEST(Submission, ContentIsWhatTheFileDecidesAndDataByHash) {
  const std::string resolved = Prepare(TwoVariants())->sweeps[0].record.resolved;
  EXPECT_EQ(Prepare(TwoVariants(), {.yaml = "# other text", .folder = "/elsewhere"})
                ->sweeps[0]
                .record.resolved,
            resolved);
  SweepSpec other = TwoVariants();
  other.seeds = {0, 1};
  EXPECT_NE(Prepare(other)->sweeps[0].record.resolved, resolved);
  other = TwoVariants();
  other.variants[0].train_dataset = "another-text";
  EXPECT_NE(Prepare(other)->sweeps[0].record.resolved, resolved);
  other = TwoVariants();
  other.variants[0].config.train.optimizer.lr *= 2;
  EXPECT_NE(Prepare(other)->sweeps[0].record.resolved, resolved);
}

TEST(Submission, DataThatDidNotComeAlongIsNamed) {
  SweepSpec spec = TwoVariants();
  spec.variants[1].validation_datasets["gcide"] = "";
  Status status = Prepare(spec).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr("variant 'NoPE': its validation set 'gcide' is not among"));
  spec = TwoVariants();
  spec.variants[0].config.data.train = "corpus:austen";
  spec.variants[0].train_dataset = "";
  EXPECT_THAT(Prepare(spec).status().message(), HasSubstr(R"(its training text "corpus:austen")"));
}

TEST(Submission, HashesComeFromTheRequest) {
  SubmitCall call;
  call.yaml = "text";
  call.folder = "/folder";
  call.max_jobs = 7;
  call.datasets["key"].hash = "hash";
  bool parsed = false;
  const auto submission = PrepareSubmission(
      call,
      [&](const std::string& yaml, const SpecOptions& options) -> Result<std::vector<SweepSpec>> {
        parsed = true;
        EXPECT_EQ(yaml, "text");
        EXPECT_EQ(options.folder, "/folder");
        EXPECT_EQ(options.max_jobs, 7);
        EXPECT_EQ(options.dataset_hashes("key"), "hash");
        EXPECT_EQ(options.dataset_hashes("other"), std::nullopt);
        return std::vector<SweepSpec>{TwoVariants(), TwoVariants()};
      });
  EXPECT_TRUE(parsed);
  EXPECT_THAT(submission.status().message(), HasSubstr("two sweeps are called 's'"));
}

TEST(Submission, TheRealParserReportsEveryFault) {
  SubmitCall call;
  call.file = "a.yaml";
  call.yaml = "sweep: s\nbase: {data: {train: corpus:austen}, modle: {}}\nseedz: 3\n";
  const Status status = PrepareSubmission(call, FileParser()).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("a.yaml:2:"));
  EXPECT_THAT(status.message(), HasSubstr("a.yaml:3:1: error: unknown key 'seedz'"));
}

TEST(Submission, FilesThatASweepExtendsComeAlong) {
  SubmitCall call;
  call.file = "a.yaml";
  call.folder = "/folder";
  call.yaml = "sweep: s\nextends: common/b.yaml\n";
  EXPECT_THAT(
      PrepareSubmission(call, FileParser()).status().message(),
      HasSubstr("a.yaml:2:10: error: extends: 'common/b.yaml': /folder/common/b.yaml did not "
                "come with the submission"));
  call.extended["/folder/common/b.yaml"] = "seedz: 3\n";
  EXPECT_THAT(PrepareSubmission(call, FileParser()).status().message(),
              HasSubstr("common/b.yaml:1:1: error: unknown key 'seedz'"));

  const auto submission = Prepare(TwoVariants(), call);
  ASSERT_TRUE(submission.ok()) << submission.status();
  EXPECT_EQ(submission->sweeps[0].record.extended, R"({"/folder/common/b.yaml":"seedz: 3\n"})");
}

}  // namespace
}  // namespace gyre
