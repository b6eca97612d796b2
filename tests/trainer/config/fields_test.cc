#include "trainer/config/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "trainer/config/job_config.h"

namespace gyre {
namespace {

TEST(FieldsTest, PathsAreUniqueAndDescribed) {
  std::set<std::string_view> paths;
  for (const Field& field : AllFields()) {
    EXPECT_TRUE(paths.insert(field.path).second) << field.path;
    EXPECT_FALSE(field.meaning.empty()) << field.path;
    EXPECT_FALSE(DescribeType(field).empty()) << field.path;
    EXPECT_LE(field.low, field.high) << field.path;
    const bool chooses = field.kind == FieldKind::kChoice || field.kind == FieldKind::kChoices;
    EXPECT_EQ(chooses, !field.choices.empty()) << field.path;
    EXPECT_EQ(field.scope == FieldScope::kHuggingFace, field.default_text.empty()) << field.path;
    for (const std::string& word : Words(field.later)) {
      EXPECT_TRUE(word == "*" || testing::Value(Words(field.choices), testing::Contains(word)))
          << field.path;
    }
  }
}

// Whatever a job's configuration holds can be written in a sweep: the table has it.
TEST(FieldsTest, TheTableHasEveryKeyOfAJob) {
  JobConfig config;
  config.position.common.scaling = {.type = "yarn", .factor = 2};
  const Json json = ToJson(config);
  const std::function<void(const std::string&, const Json&)> check = [&](const std::string& path,
                                                                         const Json& value) {
    if (FieldIndex(path) >= 0) return;
    ASSERT_TRUE(IsBlock(path) && value.is_object()) << path;
    for (const auto& [key, inner] : value.items()) check(path + "." + key, inner);
  };
  for (const auto& [block, value] : json.items()) check(block, value);
}

// Defaults that the table writes as values are those of the structs.
TEST(FieldsTest, DefaultsAreThoseOfTheStructs) {
  const Json json = ToJson(JobConfig{});
  int compared = 0;
  for (const Field& field : AllFields()) {
    const Json* value = &json;
    std::string path(field.path);
    for (size_t begin = 0; value != nullptr && begin < path.size();) {
      const size_t end = std::min(path.find('.', begin), path.size());
      const std::string key = path.substr(begin, end - begin);
      value = value->is_object() && value->contains(key) ? &(*value)[key] : nullptr;
      begin = end + 1;
    }
    const Json written = Json::parse(field.default_text, nullptr, false);
    if (value == nullptr) continue;
    if (written.is_discarded()) {
      if (value->is_string()) {
        EXPECT_EQ(*value, std::string(field.default_text)) << field.path;
      }
      continue;
    }
    EXPECT_EQ(*value, written) << field.path;
    ++compared;
  }
  EXPECT_GT(compared, 15);
}

TEST(FieldsTest, KeysAndBlocks) {
  EXPECT_TRUE(IsBlock("position.scaling"));
  EXPECT_FALSE(IsBlock("resources"));
  EXPECT_FALSE(IsBlock("position.theta"));
  EXPECT_THAT(KeysUnder(""),
              testing::ElementsAre("model", "position", "data", "train", "evaluate", "statistics"));
  EXPECT_THAT(KeysUnder("train.schedule"),
              testing::ElementsAre("name", "warmup_tokens", "final_lr_fraction"));
  EXPECT_THAT(SweepKeys(),
              testing::IsSupersetOf({"sweep", "base", "resources", "retry", "timeout"}));
  EXPECT_EQ(FieldIndex("model"), -1);
  EXPECT_EQ(AllFields()[FieldIndex("position.p")].path, "position.p");
}

TEST(FieldsTest, TypesInWords) {
  const auto type = [](const char* path) {
    return DescribeType(AllFields()[FieldIndexOrDie(path)]);
  };
  EXPECT_EQ(type("position.p"), "a number or percentage between 0 and 1");
  EXPECT_EQ(type("position.theta"), "a finite number above 1");
  EXPECT_EQ(type("position.keep"), "one of high, low");
}

}  // namespace
}  // namespace gyre
