#include "trainer/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "trainer/backend/create_backend.h"
#include "trainer/commands.h"

namespace gyre {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;
using Path = std::filesystem::path;

const Path kCases = "tests/trainer/reference";

std::vector<std::string> Cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kCases)) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Outcome {
  int code;
  std::string out, err;
};

Outcome Verify(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const int code = VerifyCommand(arguments, out, err);
  return {code, out.str(), err.str()};
}

// A copy of a case whose files a test may spoil.
class Copy {
 public:
  explicit Copy(const std::string& name)
      : path_(Path(testing::TempDir()) /
              ("verify-" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
    for (const char* file : {"config.json", "expected.json", "model.safetensors"}) {
      // Contents, not permissions: test data may be read-only.
      Write(file, *ReadFile(kCases / name / file));
    }
  }
  ~Copy() { std::filesystem::remove_all(path_); }

  std::string path() const { return path_.string(); }
  std::string Read(const std::string& file) const { return *ReadFile(path_ / file); }
  Json ReadJson(const std::string& file) const { return Json::parse(Read(file)); }
  void Write(const std::string& file, const std::string& content) const {
    std::ofstream(path_ / file, std::ios::binary) << content;
  }
  void Write(const std::string& file, const Json& json) const { Write(file, json.dump()); }

 private:
  Path path_;
};

class ReferenceCase : public testing::TestWithParam<std::string> {};

TEST_P(ReferenceCase, HoldsOnTheCpuBackend) {
  const auto report = VerifyFolder(kCases / GetParam(), {.backend = "cpu"});
  ASSERT_TRUE(report.ok()) << report.status();
  std::ostringstream lines;
  Print(*report, lines);
  EXPECT_TRUE(report->holds()) << lines.str();
  EXPECT_EQ(std::count_if(report->quantities.begin(), report->quantities.end(),
                          [](const auto& quantity) { return quantity.checked; }),
            37);
}

TEST_P(ReferenceCase, HoldsInBf16) {
  if (UsablePrecision("cpu", Precision::kBf16) != Precision::kBf16) {
    GTEST_SKIP() << "this processor has no instructions for bf16";
  }
  for (const int threads : {1, 2}) {
    const auto report = VerifyFolder(kCases / GetParam(), {"cpu", threads, Precision::kBf16});
    ASSERT_TRUE(report.ok()) << report.status();
    std::ostringstream lines;
    Print(*report, lines);
    EXPECT_TRUE(report->holds()) << lines.str();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceCase, testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// All cases in double precision: model/reference_cases_test.cc.
TEST(Verify, HoldsOnTheReferenceBackend) {
  for (const char* name : {"gemma-prope75-mqa", "llama-qknorm-noperope-layers-window"}) {
    const auto report = VerifyFolder(kCases / name, {.backend = "reference"});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_TRUE(report->holds());
  }
}

TEST(Verify, HoldsOnSeveralThreadsToo) {
  const auto report = VerifyFolder(kCases / "llama-rope500k-gqa", {.backend = "cpu", .threads = 3});
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->holds());
}

struct Falsified {
  const char* place;  // a JSON pointer into expected.json
  double factor, offset;
};

// Just beyond what each quantity is allowed, and the quantity that has to say so.
TEST(Verify, EveryFalsifiedQuantityFails) {
  const std::string q = "/gradient/params/model.layers.1.self_attn.q_proj.weight/";
  const std::string head = "/adamw/params/lm_head.weight/";
  const std::pair<std::string, Falsified> falsified[] = {
      {"position.inv_freq", {"/position/inv_freq/1/5", 1 + 3e-6, 0}},
      {"position.attention_factor", {"/position/attention_factor/0", 1 + 3e-6, 0}},
      {"position.pairs", {"/position/pairs/3/1", 1, 1}},
      {"target_count", {"/target_count", 1, 1}},
      {"loss", {"/loss", 1, 2e-5}},
      {"nll", {"/nll/2/63", 1, 2e-4}},
      {"logits", {"/logits/1/values/7", 1, 1e-2}},
      {"residual_norm", {"/residual_norm/3", 1 + 5e-4, 0}},
      {"gradient.total_norm", {"/gradient/total_norm", 1 + 5e-4, 0}},
      {"gradient.norm", {"norm", 1 + 5e-4, 0}},
      {"gradient.sum", {"sum", 1, 1e-3}},
      {"gradient.entries", {"value/2", 1, 1e-4}},
      {"accumulation.target_counts", {"/accumulation/target_counts/1", 1, 1}},
      {"accumulation.nll_sums", {"/accumulation/nll_sums/0", 1, 1e-2}},
      {"accumulation.loss", {"/accumulation/loss", 1, 2e-5}},
      {"accumulation.gradient_total_norm", {"/accumulation/gradient_total_norm", 1 + 5e-4, 0}},
      {"accumulation.wrong_loss", {"/accumulation/wrong_loss", 1, 2e-5}},
      {"accumulation.wrong_gradient_total_norm",
       {"/accumulation/wrong_gradient_total_norm", 1 + 5e-4, 0}},
      {"adamw.loss, first", {"/adamw/loss/0", 1, 2e-5}},
      {"adamw.loss, later", {"/adamw/loss/3", 1, 4e-4}},
      {"adamw.grad_norm", {"/adamw/grad_norm/2", 1 + 5e-4, 0}},
      {"adamw.norm", {"adamw norm", 1 + 5e-4, 0}},
      {"adamw.entries", {"adamw value/1", 1, 3e-4}},
      {"frequency", {"/frequency/v/1/2/4", 1 + 5e-4, 0}},
      {"frequency, without first", {"/frequency/k_without_first/0/1/3", 1 + 5e-4, 0}},
      {"contribution.mean_abs", {"/contribution/mean_abs/1/2", 1 + 5e-4, 0}},
      {"contribution.share", {"/contribution/share/0/0", 1 + 5e-4, 0}},
      {"heads.diag", {"/heads/diag/0/1", 1 + 5e-4, 0}},
      {"heads.prev", {"/heads/prev/1/1", 1 + 5e-4, 0}},
      {"heads.first", {"/heads/first/0/2", 1 + 5e-4, 0}},
      {"heads.entropy", {"/heads/entropy/1/0", 1 + 5e-4, 0}},
      {"heads.distance", {"/heads/distance/0/0", 1 + 5e-4, 0}},
      {"loss", {"/batch/targets/0/5", 1, 1}},
      {"residual_norm", {"/batch/input_ids/1/9", 1, 1}},
      {"adamw.entries", {"/adamw/lr", 1.1, 0}},
      {"adamw.entries", {"/adamw/weight_decay", 0, 5}},
      {"adamw.entries", {"/adamw/beta2", 0.9, 0}},
      {"adamw.entries", {"/adamw/clip", 0.01, 0}},
  };
  const Copy copy("llama-rope");
  const Json expected = copy.ReadJson("expected.json");
  for (const auto& [quantity, change] : falsified) {
    std::string place = change.place;
    if (place.starts_with("adamw ")) place = head + place.substr(6);
    if (!place.starts_with("/")) place = q + place;
    SCOPED_TRACE(place);
    Json spoiled = expected;
    Json& value = spoiled.at(Json::json_pointer(place));
    value = value.is_number_integer() ? Json(value.get<int>() * static_cast<int>(change.factor) +
                                             static_cast<int>(change.offset))
                                      : Json(value.get<double>() * change.factor + change.offset);
    copy.Write("expected.json", spoiled);
    const Outcome outcome = Verify({copy.path()});
    EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("FAIL  " + quantity + " "));
    EXPECT_THAT(outcome.out, HasSubstr("DOES NOT HOLD"));
  }
}

TEST(Verify, FalsifiedSlopesAndFactorsFail) {
  for (const auto& [name, place] : {std::pair("llama-alibi-6heads", "/position/alibi_slopes/4"),
                                    std::pair("llama-yarn", "/position/attention_factor/1")}) {
    const Copy copy(name);
    Json expected = copy.ReadJson("expected.json");
    Json& value = expected.at(Json::json_pointer(place));
    value = value.get<double>() * (1 + 3e-6);
    copy.Write("expected.json", expected);
    EXPECT_EQ(Verify({copy.path()}).code, 1) << name;
  }
}

TEST(Verify, ZeroAndKeptFrequenciesAreToldApart) {
  const Copy copy("llama-prope75");
  Json expected = copy.ReadJson("expected.json");
  expected["position"]["inv_freq"][0][6] = 0.0;  // the slowest kept pair
  copy.Write("expected.json", expected);
  EXPECT_THAT(Verify({copy.path()}).out, HasSubstr("FAIL  position.inv_freq"));
  expected = Json::parse(*ReadFile(kCases / "llama-prope75" / "expected.json"));
  expected["position"]["inv_freq"][0][7] = 1e-9;  // the first dropped
  copy.Write("expected.json", expected);
  EXPECT_THAT(Verify({copy.path()}).out, HasSubstr("FAIL  position.inv_freq"));
}

TEST(Verify, ListsOfOtherLengthsFail) {
  const Copy copy("llama-rope");
  const Json whole = copy.ReadJson("expected.json");
  for (const char* place :
       {"/position/inv_freq", "/position/inv_freq/1", "/position/pairs",
        "/position/attention_factor", "/nll", "/nll/1", "/logits/0/values", "/residual_norm",
        "/frequency/q", "/frequency/q/1", "/frequency/v_without_first/0/1", "/contribution/share",
        "/contribution/mean_abs/2", "/heads/diag", "/heads/first/1"}) {
    Json expected = whole;
    Json& list = expected.at(Json::json_pointer(place));
    list.erase(list.size() - 1);
    copy.Write("expected.json", expected);
    const Outcome outcome = Verify({copy.path()});
    EXPECT_EQ(outcome.code, 1) << place;
    EXPECT_THAT(outcome.out, HasSubstr("entries, expected"));
  }
}

TEST(Verify, ChangedConfigurationsFail) {
  const Copy copy("llama-rope");
  const Json whole = copy.ReadJson("config.json");
  for (const auto& [place, value] :
       {std::pair("/gyre/position/theta", Json(10001.0)), std::pair("/gyre/position/p", Json(0.9)),
        std::pair("/rms_norm_eps", Json(1e-3)), std::pair("/gyre/position/type", Json("nope")),
        std::pair("/gyre/attention/windows", Json({30, 0}))}) {
    Json config = whole;
    config[Json::json_pointer(place)] = value;
    copy.Write("config.json", config);
    EXPECT_EQ(Verify({copy.path()}).code, 1) << place;
  }
}

TEST(Verify, MissingPartsAreSkippedAndNamed) {
  const Copy copy("gemma-prope75-mqa");
  const Json whole = copy.ReadJson("expected.json");
  for (const char* part : {"position", "loss", "nll", "logits", "residual_norm", "gradient",
                           "accumulation", "adamw", "frequency", "contribution", "heads"}) {
    Json expected = whole;
    expected.erase(part);
    copy.Write("expected.json", expected);
    const Outcome outcome = Verify({copy.path()});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    EXPECT_THAT(outcome.out,
                testing::ContainsRegex("skip +" + std::string(part) + ".* not in expected.json"));
  }
  Json only_position = {{"position", whole["position"]}, {"mystery", 1}};
  copy.Write("expected.json", only_position);
  const Outcome outcome = Verify({copy.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("skip +loss +needs the batch"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("skip +mystery +no part of the format"));
}

TEST(Verify, OneParameterMissingIsNamed) {
  const Copy copy("llama-rope");
  Json expected = copy.ReadJson("expected.json");
  expected["gradient"]["params"].erase("model.norm.weight");
  copy.Write("expected.json", expected);
  const Outcome outcome = Verify({copy.path()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, testing::ContainsRegex("skip +gradient.model.norm.weight"));
}

TEST(Verify, NothingToCheckDoesNotPass) {
  const Copy copy("llama-rope");
  const Json whole = copy.ReadJson("expected.json");
  for (const Json& expected :
       {Json::object(), Json{{"mystery", 1}}, Json{{"batch", whole["batch"]}},
        Json{{"heads", whole["heads"]}}, Json{{"position", Json::object()}}}) {
    copy.Write("expected.json", expected);
    const Outcome outcome = Verify({copy.path()});
    EXPECT_EQ(outcome.code, 2) << expected;
    EXPECT_THAT(outcome.err, HasSubstr("no part that can be checked"));
  }
}

// NaN is no JSON, null no number; an overflowing number is neither.
TEST(Verify, WhatIsNoNumberIsBadInput) {
  const Copy copy("llama-rope");
  const std::string text = copy.Read("expected.json");
  const size_t at = text.find("\"loss\": ") + 8, end = text.find(',', at);
  for (const char* value : {"NaN", "Infinity", "null", "1e999", "\"4.2\"", "[]", "{}"}) {
    copy.Write("expected.json", text.substr(0, at) + value + text.substr(end));
    const Outcome outcome = Verify({copy.path()});
    EXPECT_EQ(outcome.code, 2) << value << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("expected.json"));
  }
}

TEST(Verify, NotANumberInTheWeightsIsBadInput) {
  const Copy copy("llama-rope");
  std::string weights = copy.Read("model.safetensors");
  weights.replace(weights.size() - 4, 4, std::string("\x00\x00\xc0\x7f", 4));  // the last float
  copy.Write("model.safetensors", weights);
  const Outcome outcome = Verify({copy.path()});
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr("has a value that is no number (NaN)"));
}

TEST(Verify, MalformedFoldersAreBadInput) {
  const Copy copy("llama-rope");
  const Json expected = copy.ReadJson("expected.json");
  Json config = copy.ReadJson("config.json");
  config["gyre"]["attention"].erase(
      "windows");  // one a layer, and the number of layers will change
  const std::string weights = copy.Read("model.safetensors");
  const auto refused = [&](const std::string& what) {
    const Outcome outcome = Verify({copy.path()});
    EXPECT_EQ(outcome.code, 2) << what << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr(what));
  };
  for (const auto& [place, value, what] :
       {std::tuple("/batch/input_ids/0/0", Json(61), "token 61"),
        std::tuple("/batch/input_ids/0", Json({1, 2}), "batch.input_ids"),
        std::tuple("/batch/targets/0/0", Json(-2), "target -2"),
        std::tuple("/logits/0/t", Json(64), "logits"),
        std::tuple("/gradient/params/model.norm.weight/index/0", Json(64), "no entry 64"),
        std::tuple("/gradient/params/model.norm.weight/value", Json({1.0}), "as many entries"),
        std::tuple("/accumulation/micro_batches/0/0", Json(3), "row 3"),
        std::tuple("/adamw/steps", Json(0), "adamw.steps"),
        std::tuple("/adamw/loss", Json({1.0}), "adamw.loss"),
        std::tuple("/frequency/k/1", Json("much"), "frequency.k.[1] must be"),
        std::tuple("/frequency/k", Json(1), "frequency.k must be"),
        std::tuple("/contribution/layer", Json(2), "contribution.layer is 2"),
        std::tuple("/heads/prev", Json({1.0}), "heads.prev must be"),
        std::tuple("/nll", Json("much"), "nll must be")}) {
    Json spoiled = expected;
    spoiled[Json::json_pointer(place)] = value;
    copy.Write("expected.json", spoiled);
    refused(what);
  }
  Json renamed = expected;
  renamed["gradient"]["params"]["model.rope.weight"] =
      renamed["gradient"]["params"]["model.norm.weight"];
  copy.Write("expected.json", renamed);
  refused("no parameter 'model.rope.weight'");
  copy.Write("expected.json", expected);

  for (const auto& [place, value, what] :
       {std::tuple("/hidden_size", Json(60), "has the shape"),
        std::tuple("/num_hidden_layers", Json(3), "no tensor"),
        std::tuple("/num_hidden_layers", Json(1), "is none that this model has"),
        std::tuple("/num_hidden_layers", Json(-1), "num_hidden_layers"),
        std::tuple("/vocab_size", Json(16'000'000), "has the shape"),  // before any memory for it
        std::tuple("/num_key_value_heads", Json(3), "num_key_value_heads"),
        std::tuple("/model_type", Json("mamba"), "model_type"),
        std::tuple("/vocab_size", Json("many"), "vocab_size"),
        std::tuple("/gyre/position/type", Json("spiral"), "position.type"),
        std::tuple("/gyre/position/tehta", Json(1), "gyre.position.tehta"),
        std::tuple("/gyre/attention/windows", Json({1, 2, 3}), "windows has 3"),
        std::tuple("/attention_bias", Json(true), "attention_bias")}) {
    Json spoiled = config;
    spoiled[Json::json_pointer(place)] = value;
    copy.Write("config.json", spoiled);
    refused(what);
  }
  copy.Write("config.json", config);

  copy.Write("model.safetensors", weights.substr(0, weights.size() / 2));
  refused("model.safetensors");
  copy.Write("model.safetensors", std::string(8, '\xff') + weights.substr(8));
  refused("model.safetensors");
  copy.Write("model.safetensors", std::string());
  refused("model.safetensors");
  std::filesystem::remove(Path(copy.path()) / "model.safetensors");
  refused("model.safetensors");
}

TEST(Verify, UsageErrors) {
  EXPECT_EQ(Verify({}).code, 2);
  EXPECT_EQ(Verify({"/nowhere"}).code, 2);
  EXPECT_EQ(Verify({"x", "--backend"}).code, 2);
  EXPECT_THAT(Verify({"x", "--bakcend", "cpu"}).err, HasSubstr("--bakcend"));
  EXPECT_THAT(Verify({(kCases / "llama-rope").string(), "--backend", "tpu"}).err,
              HasSubstr("there are cpu, cuda (or cuda:0, cuda:1, ...) and reference"));
  EXPECT_THAT(Verify({"x", "--precision=float16"}).err,
              HasSubstr("there are float32, tf32 and bf16"));
  const Outcome narrow =
      Verify({(kCases / "llama-rope").string(), "--backend=reference", "--precision=bf16"});
  EXPECT_EQ(narrow.code, 2);
  EXPECT_THAT(narrow.err, HasSubstr("does not compute in bf16 here"));
}

}  // namespace
}  // namespace gyre
