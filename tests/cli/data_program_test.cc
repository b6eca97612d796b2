// `gyre data`, as a person uses it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/gyre_process.h"
#include "tests/trainer/data/temporary_home.h"

namespace gyre {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DataProgramTest : public TemporaryHomeTest {
 protected:
  GyreResult Run(std::vector<std::string> arguments, const std::string& path = "/usr/bin:/bin") {
    arguments.insert(arguments.begin(), "data");
    return RunGyre(arguments, {home_, {"GYRE_HOME=" + Path("gyre"), "PATH=" + path}});
  }
};

TEST_F(DataProgramTest, ATextIsPreparedListedAndInspected) {
  Write("a.txt", std::string(90, 'a') + "\n" + std::string(9, 'b'));
  const GyreResult prepared = Run({"prepare", "a.txt", "--format", "json"});
  EXPECT_EQ(prepared.exit_code, 0) << prepared.error;
  const auto rows = nlohmann::json::parse(prepared.output)["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0], "a.txt");
  EXPECT_EQ(rows[0][1], 92);  // tokens: 91 bytes and a document start
  EXPECT_EQ(rows[1][0], "a.txt/validation");
  EXPECT_EQ(rows[1][3], 9);  // bytes

  const GyreResult list = Run({"list"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.output, AllOf(HasSubstr("a.txt/validation"), HasSubstr("austen"),
                                 HasSubstr("(not prepared)")));

  const GyreResult by_source = Run({"inspect", "a.txt", "--part", "validation"});
  EXPECT_THAT(by_source.output,
              AllOf(HasSubstr("as its hash says"), HasSubstr("<start>|b|b|b|b|b|b|b|b|b|\n")));
  const GyreResult by_hash = Run({"inspect", rows[1][4].get<std::string>().substr(0, 10)});
  EXPECT_THAT(by_hash.output, HasSubstr("<start>|b|b|b|b|b|b|b|b|b|\n"));
  // Both parts side by side, and nothing but the table where a program reads it.
  const GyreResult both = Run({"inspect", "a.txt", "--format", "json"});
  const auto json = nlohmann::json::parse(both.output);
  EXPECT_EQ(json["columns"], nlohmann::json({"property", "train", "validation"}));
}

TEST_F(DataProgramTest, JsonLinesOfSeveralFieldsAndTokenIds) {
  Write("qa.jsonl", "{\"q\": \"why?\", \"a\": 1}\n{\"q\": \"how?\", \"a\": 2}\n");
  ASSERT_EQ(Run({"prepare", "qa.jsonl", "--template", "{q} {a}"}).exit_code, 0);
  EXPECT_THAT(Run({"inspect", "qa.jsonl", "--template", "{q} {a}"}).output,
              AllOf(HasSubstr("w|h|y|?| |1|"), HasSubstr("h|o|w|?| |2|")));
  ASSERT_EQ(Run({"add", "qa", "qa.jsonl", "--field", "q"}).exit_code, 0);
  ASSERT_EQ(Run({"prepare", "corpus:qa"}).exit_code, 0);
  EXPECT_THAT(Run({"inspect", "corpus:qa"}).output, HasSubstr("<start>|w|h|y|?|\n"));

  Write("ids.bin", std::string("\x05\0\x06\0\x04\0\x07\0", 8));
  ASSERT_EQ(Run({"prepare", "ids.bin", "--tokenizer", "ids:8:4", "--part", "all"}).exit_code, 0);
  EXPECT_THAT(Run({"inspect", "ids.bin", "--tokenizer", "ids:8:4", "--part", "all"}).output,
              AllOf(HasSubstr("<start>|<5>|<6>|\n"), HasSubstr("<start>|<7>|\n")));
  EXPECT_THAT(Run({"prepare", "ids.bin"}).error, HasSubstr("{ids: n}"));
  EXPECT_THAT(Run({"prepare", "qa.jsonl", "--tokenizer", "ids:8"}).error, HasSubstr(".bin files"));
}

TEST_F(DataProgramTest, ADamagedDataSetIsFound) {
  Write("a.txt", "0123456789");
  const auto rows = nlohmann::json::parse(
      Run({"prepare", "a.txt", "--part", "all", "--format", "json"}).output)["rows"];
  const std::string hash = rows[0][4];
  Write("gyre/datasets/" + hash + "/tokens.bin", std::string(22, '\0'));
  const GyreResult inspected = Run({"inspect", hash});
  EXPECT_EQ(inspected.exit_code, 1);
  EXPECT_THAT(inspected.output, HasSubstr("prepare it again"));
}

TEST_F(DataProgramTest, FilesGetAName) {
  Write("a.txt", "some text of mine");
  EXPECT_EQ(Run({"add", "mine", "a.txt", "--license", "CC0"}).exit_code, 0);
  EXPECT_THAT(Run({"list"}).output, AllOf(HasSubstr("corpus:mine"), HasSubstr("CC0")));
  EXPECT_EQ(Run({"prepare", "corpus:mine"}).exit_code, 0);
  EXPECT_EQ(Run({"add", "mine", "absent.txt"}).exit_code, 2);
  EXPECT_EQ(Run({"add", "My Text", "a.txt"}).exit_code, 2);
}

TEST_F(DataProgramTest, WhatCannotBePreparedSaysWhy) {
  const GyreResult missing = Run({"prepare", "corpus:atlantis"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.error, HasSubstr("corpus:austen"));
  Write("a.jsonl", "{}");
  EXPECT_THAT(Run({"prepare", "a.jsonl"}).error, HasSubstr("a.jsonl:1: none of the fields"));
  EXPECT_THAT(Run({"prepare", "a.jsonl", "--template", "{x"}).error, HasSubstr("braces"));
  for (const char* bad : {"words", "bpe:", "bpe:x", "ids:5:7", "bpe", ":"}) {
    EXPECT_EQ(Run({"prepare", "a.jsonl", "--tokenizer", bad}).exit_code, 2) << bad;
  }
  EXPECT_EQ(Run({"prepare", "a.jsonl", "--tokenizer", "absent.model"}).exit_code, 2);
  EXPECT_EQ(Run({"prepare", "a.jsonl", "--holdout", "2"}).exit_code, 2);
  EXPECT_EQ(Run({"prepare"}).exit_code, 2);
  EXPECT_THAT(Run({"inspect", "a.jsonl"}).error, HasSubstr("is not prepared"));
  EXPECT_EQ(Run({"dance"}).exit_code, 2);
}

TEST_F(DataProgramTest, APackageThatCannotBeFetchedSaysWhatToDo) {
  const GyreResult no_apt = Run({"prepare", "corpus:austen"}, Path("empty"));
  EXPECT_EQ(no_apt.exit_code, 1);
  EXPECT_THAT(no_apt.error, AllOf(HasSubstr("no apt-get"), HasSubstr("--from FILE.deb")));

  const std::string apt =
      Write("bin/apt-get", "#!/bin/sh\necho E: Unable to locate package\nexit 100\n");
  std::filesystem::permissions(apt, std::filesystem::perms::owner_all);
  const GyreResult no_lists = Run({"prepare", "corpus:austen"}, Path("bin"));
  EXPECT_EQ(no_lists.exit_code, 1);
  EXPECT_THAT(no_lists.error, AllOf(HasSubstr("E: Unable to locate package"),
                                    HasSubstr("Run `apt-get update` first")));
  EXPECT_TRUE(std::filesystem::is_empty(Path("gyre/tmp")));
}

TEST_F(DataProgramTest, ATextTooSmallToHoldOutFromStillTrains) {
  Write("a.txt", "tiny");
  const GyreResult prepared = Run({"prepare", "a.txt"});
  EXPECT_EQ(prepared.exit_code, 0);
  EXPECT_THAT(prepared.error, HasSubstr("validation part of \"a.txt\" has no document"));
}

}  // namespace
}  // namespace gyre
