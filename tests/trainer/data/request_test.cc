#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainer/data/dataset.h"
#include "trainer/data/tokenizer_request.h"

namespace gyre {
namespace {

DataConfig Austen() {
  DataConfig data;
  data.train = "corpus:austen";
  return data;
}

TEST(RequestTest, EqualRequestsHaveEqualKeysAndEveryFieldCounts) {
  const DatasetRequest request{"corpus:austen", "train", "bytes", 0.05};
  EXPECT_EQ(request.Key(), (DatasetRequest{"corpus:austen", "train", "bytes", 0.05}).Key());
  EXPECT_EQ(request.Key(),
            (DatasetRequest{Json::array({"corpus:austen"}), "train", nullptr, 0.05}).Key());
  EXPECT_NE(request.Key(), (DatasetRequest{"corpus:gcide", "train", "bytes", 0.05}).Key());
  EXPECT_NE(request.Key(), (DatasetRequest{"corpus:austen", "validation", "bytes", 0.05}).Key());
  EXPECT_NE(request.Key(), (DatasetRequest{"corpus:austen", "train", "a.model", 0.05}).Key());
  EXPECT_NE(request.Key(), (DatasetRequest{"corpus:austen", "train", "bytes", 0.06}).Key());
}

TEST(RequestTest, AKeyGivesItsRequestBack) {
  const DatasetRequest request{Json{"/a.txt", "/b"}, "validation", "bytes", 0.1};
  const auto back = DatasetRequest::FromKey(request.Key());
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->Key(), request.Key());
  for (const char* bad : {"", "[]", "{}", "{\"source\": 1}", "nonsense"}) {
    EXPECT_EQ(DatasetRequest::FromKey(bad).status().code(), StatusCode::kInvalidArgument) << bad;
  }
}

TEST(RequestTest, ValidationDefaultsToTheHeldOutPartNamedAfterTheCorpus) {
  const JobDatasetRequests requests = RequestsOf(Austen());
  EXPECT_EQ(requests.train.at(0).request.part, "train");
  ASSERT_EQ(requests.validation.size(), 1u);
  EXPECT_EQ(requests.validation[0].first, "austen");
  EXPECT_EQ(requests.validation[0].second.Key(),
            (DatasetRequest{"corpus:austen", "validation", "bytes", 0.05}).Key());
}

TEST(RequestTest, ASuffixNamesThePartOfACorpusAndPathsAreTakenWhole) {
  DataConfig data = Austen();
  data.validation = {{"held-out", "corpus:austen/validation"}, {"mine", "valid.txt"}};
  const JobDatasetRequests requests = RequestsOf(data);
  ASSERT_EQ(requests.validation.size(), 2u);
  EXPECT_EQ(requests.validation[0].second.source, Json("corpus:austen"));
  EXPECT_EQ(requests.validation[0].second.part, "validation");
  EXPECT_EQ(requests.validation[1].second.source, Json("valid.txt"));
  EXPECT_EQ(requests.validation[1].second.part, "all");
}

TEST(RequestTest, AValidationSourceEqualToTrainIsItsHeldOutPart) {
  DataConfig data;
  data.train = "texts/";
  data.validation = {{"texts", "texts/"}};
  EXPECT_EQ(RequestsOf(data).validation[0].second.part, "validation");
}

TEST(RequestTest, EachTextOfAMixtureIsARequestAndItsHeldOutPartIsEvaluated) {
  DataConfig data;
  data.train = {{{"source", "corpus:austen"}, {"weight", 3}},
                {{"source", {{"path", "qa.jsonl.gz"}, {"field", "q"}}}, {"weight", 1}},
                {{"source", Json{"a.txt", "b.txt"}}, {"weight", 1}},
                {{"source", "other/qa.txt"}, {"weight", 1}}};
  const JobDatasetRequests requests = RequestsOf(data);
  ASSERT_EQ(requests.train.size(), 4u);
  EXPECT_EQ(requests.train[0].weight, 0.5);
  EXPECT_EQ(requests.train[2].request.source, (Json{"a.txt", "b.txt"}));
  std::vector<std::string> names;
  for (const auto& [name, request] : requests.validation) {
    EXPECT_EQ(request.part, "validation");
    EXPECT_EQ(request.source, requests.train[names.size()].request.source);
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"austen", "qa", "validation", "qa-2"}));

  data.validation = {{"mine", data.train[1]["source"]}, {"whole", "c.txt"}};
  const JobDatasetRequests named = RequestsOf(data);
  EXPECT_EQ(named.validation[0].second.part, "validation");
  EXPECT_EQ(named.validation[1].second.part, "all");
}

TEST(RequestTest, ATokenizerThatIsTrainedSaysOnWhat) {
  DataConfig data = Austen();
  data.tokenizer = {{"train", "bpe"}, {"vocab_size", 512}};
  data.validation = {{"v", "v.txt"}};
  const JobDatasetRequests requests = RequestsOf(data);
  EXPECT_EQ(requests.train[0].request.tokenizer, requests.validation[0].second.tokenizer);
  EXPECT_EQ(requests.train[0].request.tokenizer["on"][0]["source"], "corpus:austen");
  data.train = "corpus:gcide";
  EXPECT_NE(RequestsOf(data).validation[0].second.Key(), requests.validation[0].second.Key());
  const auto absolute = [](const std::string& path) { return "/x/" + path; };
  EXPECT_EQ(TokenizerWithPaths("a.model", absolute), "/x/a.model");
  EXPECT_EQ(TokenizerWithPaths("bytes", absolute), "bytes");
}

TEST(RequestTest, NamesOfDefaultValidationSetsFitIntoMetricNames) {
  EXPECT_EQ(DefaultValidationName("corpus:austen"), "austen");
  EXPECT_EQ(DefaultValidationName("a folder/my book.txt"), "my-book");
  EXPECT_EQ(DefaultValidationName("texts/"), "texts");
  EXPECT_EQ(DefaultValidationName("."), "validation");
  EXPECT_EQ(DefaultValidationName("*.txt"), "validation");
  EXPECT_EQ(DefaultValidationName(Json::array({"a.txt", "b.txt"})), "validation");
}

TEST(RequestTest, InfoSurvivesJson) {
  const DatasetInfo info{"austen",        "ab12",         10, 2, 8, 257, "bytes",
                         "public domain", "corpus:austen"};
  const auto back = DatasetInfoFromJson(ToJson(info));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(ToJson(*back), ToJson(info));
}

TEST(RequestTest, BrokenInfoIsAnErrorNotACrash) {
  EXPECT_EQ(DatasetInfoFromJson(Json::array()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(DatasetInfoFromJson({{"name", 3}}).status().code(), StatusCode::kInvalidArgument);
  Json json = ToJson(DatasetInfo{"a", "b", 1, 1, 1, 257, "bytes", "", ""});
  json["tokens"] = -1;
  EXPECT_EQ(DatasetInfoFromJson(json).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
