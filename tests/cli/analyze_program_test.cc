// gyre analyze as a program: what it prints and keeps, and what it says of wrong input.

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "results/query.h"
#include "tests/cli/gyre_process.h"
#include "tests/results/results_database.h"
#include "tests/small_disk.h"

namespace gyre {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AnalyzeProgram : public ::testing::Test {
 protected:
  AnalyzeProgram() {
    std::string tokens;
    for (int i = 0; i < 300; ++i) tokens += std::to_string((i * i + 3 * i) % 50) + " ";
    Write("text.txt", tokens);
  }

  std::filesystem::path File(const std::string& name) { return db_.path().parent_path() / name; }
  void Write(const std::string& name, const std::string& content) {
    std::ofstream(File(name), std::ios::binary) << content;
  }
  GyreResult Analyze(std::vector<std::string> arguments, const std::string& model = kModel) {
    arguments.insert(arguments.begin(), {"analyze", std::filesystem::absolute(model).string()});
    arguments.insert(arguments.end(), {"--db", db_.path().string()});
    return RunGyre(arguments, {.folder = db_.path().parent_path()});
  }
  std::string Ask(const std::string& sql) {
    const auto table = RunQuery(db_.path(), sql, 0);
    return table.ok() ? QueryTableToJson(*table) : table.status().message();
  }

  static constexpr char kModel[] = "tests/trainer/reference/llama-rope";
  ResultsDatabase db_;
};

TEST_F(AnalyzeProgram, PrintsAndKeepsWhatItFinds) {
  const GyreResult result = Analyze({"--tokens", "text.txt", "--context", "64", "--sequences", "3",
                                     "--head", "1:2", "--first", "12"});
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(
      result.output,
      AllOf(HasSubstr("llama-rope: llama, 2 layers"), HasSubstr("3 windows of 64 tokens"),
            HasSubstr("loss "), HasSubstr("queries peak at"), HasSubstr("Norms of keys peak"),
            HasSubstr("Head 1:2, token by token"), HasSubstr("of the one before"),
            HasSubstr("Head 1:2, where its logits come from: means over its first 12 tokens")));
  EXPECT_THAT(result.error, HasSubstr("gyre plot llama-rope frequencies"));
  EXPECT_THAT(Ask("SELECT name, variant, context, windows, tokens, loss > 1 FROM models"),
              HasSubstr(R"(["llama-rope","text",64,3,192,1])"));
  EXPECT_THAT(Ask("SELECT count(*) FROM head_census WHERE sweep = 'llama-rope' AND kind <> ''"),
              HasSubstr("[[8]]"));
  EXPECT_THAT(Ask("SELECT layer, head, json_array_length(weights) FROM attention_maps"),
              HasSubstr("[[1,2,12]]"));
  EXPECT_THAT(Ask("SELECT count(*), min(json_array_length(bounds)) FROM alignments"),
              HasSubstr("[[8,8]]"));
  // Again, with less of it.
  const GyreResult again = Analyze(
      {"--tokens", "text.txt", "--context", "32", "--collect", "head_scores", "--format", "csv"});
  EXPECT_EQ(again.exit_code, 0) << again.error;
  EXPECT_THAT(again.output, HasSubstr("layer,head,kind,diagonal,previous,"));
  EXPECT_EQ(std::count(again.output.begin(), again.output.end(), '\n'), 9);
  EXPECT_THAT(again.error, AllOf(HasSubstr("the text has 9 full windows of 32 tokens"),
                                 Not(HasSubstr("own context"))));
  EXPECT_THAT(Ask("SELECT count(*) FROM models"), HasSubstr("[[1]]"));
  EXPECT_THAT(Ask("SELECT count(*) FROM frequency_norms"), HasSubstr("[[0]]"));
}

TEST_F(AnalyzeProgram, ANameThatIsTakenIsRefusedBeforeAnythingIsComputed) {
  ASSERT_EQ(Analyze({"--tokens", "text.txt", "--context", "64"}).exit_code, 0);
  Write("text.txt", "1 2 3 4");
  const GyreResult result = Analyze({"--tokens", "text.txt"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.error, HasSubstr("other results by the name llama-rope/text"));
  EXPECT_THAT(result.error, HasSubstr("the text is shorter than a window of 128 tokens"));
  const GyreResult json = Analyze({"--tokens", "text.txt", "--replace", "--format", "json"});
  EXPECT_EQ(json.exit_code, 0) << json.error;
  EXPECT_THAT(json.output, HasSubstr("\"tokens\": 4"));
}

// As the cache of Hugging Face's programs has it.
TEST_F(AnalyzeProgram, AModelBehindALinkIsCalledAsTheLinkIs) {
  std::filesystem::create_directories(File("snapshot"));
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::create_symlink(std::filesystem::absolute(kModel) / name,
                                    File("snapshot") / name);
  }
  std::filesystem::create_directory_symlink(File("snapshot"), File("named"));
  const GyreResult result = Analyze({"--tokens", "text.txt"}, File("named").string());
  EXPECT_EQ(result.exit_code, 0) << result.error;
  EXPECT_THAT(Ask("SELECT name, path FROM models"),
              AllOf(HasSubstr("[\"named\","), HasSubstr("/named\"]")));
}

// It may have taken hours.
TEST_F(AnalyzeProgram, WhatCannotBeKeptIsPrintedAllTheSame) {
  const SmallDisk disk(File("small"), size_t{1} << 16);
  if (!disk.mounted()) GTEST_SKIP() << "needs to be root";
  disk.Fill();
  const GyreResult result = RunGyre({"analyze", std::filesystem::absolute(kModel).string(),
                                     "--tokens", "text.txt", "--db", "small/results.db"},
                                    {.folder = db_.path().parent_path()});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.output, HasSubstr("llama-rope: llama, 2 layers"));
  EXPECT_THAT(result.error, AllOf(HasSubstr("cannot use the database small/results.db"),
                                  Not(HasSubstr("the results are in"))));
}

// As where the model is downloaded anew meanwhile.
TEST_F(AnalyzeProgram, AFileThatIsCutOffMeanwhileIsSaid) {
  std::filesystem::copy(kModel, File("model"));
  std::string tokens;
  for (int i = 0; i < 300'000; ++i) tokens += std::to_string(i * 7 % 50) + " ";
  Write("long.txt", tokens);
  GyreProcess gyre({"analyze", "model", "--tokens", "long.txt", "--context", "64", "--sequences",
                    "9999", "--db", "results.db"},
                   {.folder = db_.path().parent_path()});
  ASSERT_TRUE(gyre.WaitForError("full windows", Millis(20000))) << gyre.error();
  std::filesystem::resize_file(File("model/model.safetensors"), 8);
  EXPECT_EQ(gyre.Wait(), 1);
  EXPECT_THAT(gyre.error(), HasSubstr("has become shorter while it was read"));
}

TEST_F(AnalyzeProgram, WrongInputIsSaid) {
  const auto expect = [&](std::vector<std::string> arguments, const std::string& words,
                          int exit_code = 2, const std::string& model = kModel) {
    const GyreResult result = Analyze(std::move(arguments), model);
    EXPECT_THAT(result.error, HasSubstr(words));
    EXPECT_EQ(result.exit_code, exit_code) << result.error;
    EXPECT_EQ(result.output, "");
  };
  expect({}, "needs a text: --text FILE or --tokens FILE");
  Write("empty.txt", "");
  expect({"--tokens", "empty.txt"}, "empty.txt: the text is empty");
  Write("beyond.txt", "[1, 2, 100000]");
  expect({"--tokens", "beyond.txt"}, "token 2 of the text is 100000");
  Write("words.txt", "1 two 3");
  expect({"--tokens", "words.txt"}, "entry 1 is no token id");
  expect({"--tokens", "none.txt"}, "none.txt", 1);
  expect({"--tokens", "text.txt", "--head", "9:0"}, "no head 9:0");
  expect({"--tokens", "text.txt", "--name", "a/b"}, "--name must be without '/'");
  expect({"--tokens", "text.txt", "--context", "1"}, "--context");
  expect({"--tokens", "text.txt", "--head", "1"}, "--head must be LAYER:HEAD");
  expect({"--tokens", "text.txt", "--collect", "norms"}, "--collect has 'norms'");
  expect({"--tokens", "text.txt"}, "there is no model", 1, "tests/no-model");
  expect({"--text", "text.txt"}, "llama-rope; --tokens FILE takes token ids instead", 1);
  expect({"--tokens", "text.txt"}, "; a model is a Hugging Face folder with a config.json", 1,
         File("").string());
  const std::filesystem::path spoiled = File("spoiled");
  std::filesystem::create_directories(spoiled);
  std::string bytes = *ReadFile(std::string(kModel) + "/model.safetensors");
  bytes.replace(bytes.size() - 4, 4, "\xff\xff\xff\xff");
  Write("spoiled/model.safetensors", bytes);
  Write("spoiled/config.json", *ReadFile(std::string(kModel) + "/config.json"));
  expect({"--tokens", "text.txt"}, "no number (NaN)", 1, spoiled.string());
  // Before anything is made of the sizes that it claims.
  auto config = nlohmann::json::parse(*ReadFile(std::string(kModel) + "/config.json"));
  config["head_dim"] = 2147483646;
  Write("spoiled/config.json", config.dump());
  expect({"--tokens", "text.txt"}, "model.head_dim must be between 1 and", 2, spoiled.string());
  EXPECT_THAT(Ask("SELECT count(*) FROM models"), HasSubstr("[[0]]"));
}

}  // namespace
}  // namespace gyre
