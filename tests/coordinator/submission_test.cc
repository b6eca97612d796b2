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

}  // namespace
}  // namespace gyre
