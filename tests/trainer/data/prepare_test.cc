#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>

#include "tests/trainer/data/made_rdata.h"
#include "tests/trainer/data/temporary_home.h"
#include "trainer/data/corpora.h"
#include "trainer/data/dataset.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PrepareTest : public TemporaryHomeTest {
 protected:
  static DatasetRequest Request(Json source, const std::string& part, double holdout = 0.05) {
    return {std::move(source), part, "bytes", holdout};
  }
  Result<DatasetInfo> Prepare(const DatasetRequest& request) {
    return PrepareDataset(home_, request, {});
  }
  Status Error(const DatasetRequest& request) { return Prepare(request).status(); }

  // The documents' text, one a string.
  std::vector<std::string> Documents(const DatasetInfo& info) {
    const auto dataset = Dataset::Open(home_, info.hash);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    std::vector<std::string> documents;
    std::vector<int32_t> ids(static_cast<size_t>(dataset->tokens()));
    EXPECT_TRUE(dataset->Read(0, ids).ok());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] == 256) {
        EXPECT_EQ(dataset->document_starts()[documents.size()], i);
        documents.emplace_back();
      } else {
        documents.back() += static_cast<char>(ids[i]);
      }
    }
    EXPECT_EQ(documents.size(), dataset->document_starts().size());
    return documents;
  }
  size_t LeftInTmp() {
    std::error_code error;
    return static_cast<size_t>(
        std::distance(std::filesystem::directory_iterator(home_ / "tmp", error), {}));
  }
};

TEST_F(PrepareTest, AFileBecomesTokensThatAreFoundAgainWithoutReading) {
  const std::string path = Write("a.txt", "caf\xC3\xA9\r\n");
  const auto request = Request(path, "all");
  EXPECT_EQ(FindDataset(home_, request).status().code(), StatusCode::kNotFound);
  const auto info = Prepare(request);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_THAT(Documents(*info), ElementsAre("caf\xC3\xA9\n"));
  EXPECT_EQ(info->tokens, 7);
  EXPECT_EQ(info->bytes, 6);
  EXPECT_EQ(info->vocab_size, 257);
  const auto found = FindDataset(home_, request);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(ToJson(*found), ToJson(*info));
  EXPECT_TRUE(Dataset::Open(home_, info->hash)->Verify().ok());
  EXPECT_EQ(LeftInTmp(), 0u);
}

TEST_F(PrepareTest, ChangedFilesArePreparedAnewAndEqualTextHasEqualHash) {
  const auto request = Request(Write("a.txt", "one"), "all");
  const std::string hash = Prepare(request)->hash;
  Write("a.txt", "other");
  EXPECT_EQ(FindDataset(home_, request).status().code(), StatusCode::kNotFound);
  EXPECT_NE(Prepare(request)->hash, hash);
  EXPECT_EQ(Prepare(Request(Write("b.txt", "one"), "all"))->hash, hash);
}

// A sweep names files by absolute paths, a person at the prompt by relative ones.
TEST_F(PrepareTest, ARelativePathAndItsAbsoluteFormAreOneRequest) {
  const std::filesystem::path absolute = Write("a.txt", "one");
  const std::string relative = std::filesystem::relative(absolute).string();
  ASSERT_NE(relative, absolute.string());
  const auto info = Prepare(Request(relative, "all"));
  ASSERT_TRUE(info.ok()) << info.status();
  const auto found = FindDataset(home_, Request(absolute.string(), "all"));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->hash, info->hash);
}

TEST_F(PrepareTest, AFolderHoldsOutDocumentsAndNothingIsInBothParts) {
  std::vector<std::string> texts;
  for (int i = 0; i < 40; ++i) {
    texts.push_back("text " + std::to_string(i));
    Write("texts/" + std::to_string(100 + i) + ".txt", texts.back());
  }
  const auto train = Prepare(Request(Path("texts"), "train", 0.2));
  ASSERT_TRUE(train.ok()) << train.status();
  const auto validation = FindDataset(home_, Request(Path("texts"), "validation", 0.2));
  ASSERT_TRUE(validation.ok()) << "both parts are made at once: " << validation.status();
  EXPECT_GT(validation->documents, 1);
  EXPECT_EQ(train->documents + validation->documents, 40);
  EXPECT_EQ(validation->name, Path("texts") + "/validation");
  std::vector<std::string> both = Documents(*train);
  for (const auto& text : Documents(*validation)) both.push_back(text);
  EXPECT_THAT(both, testing::UnorderedElementsAreArray(texts));
}

TEST_F(PrepareTest, ASingleDocumentHoldsOutItsLastTenth) {
  const std::string path = Write("a.txt", std::string(90, 'a') + std::string(10, 'b'));
  EXPECT_THAT(Documents(*Prepare(Request(path, "train"))), ElementsAre(std::string(90, 'a')));
  EXPECT_THAT(Documents(*Prepare(Request(path, "validation"))), ElementsAre(std::string(10, 'b')));
  EXPECT_EQ(Error(Request(path, "validation", 0)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Error(Request(Write("b.txt", "tiny"), "validation")).code(),
            StatusCode::kInvalidArgument);
}

TEST_F(PrepareTest, EmptyFilesAreErrorsByNameAndLeftOutOfFolders) {
  Write("texts/a.txt", ""), Write("texts/b.txt", "b"), Write("void/a.txt", "\xEF\xBB\xBF");
  EXPECT_THAT(Error(Request(Path("texts/a.txt"), "all")).message(), HasSubstr("a.txt is empty"));
  EXPECT_THAT(Error(Request(Path("void"), "all")).message(), HasSubstr("empty"));
  std::string said;
  const auto info = PrepareDataset(home_, Request(Path("texts"), "all"),
                                   [&](const std::string& s) { said += s; });
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_THAT(Documents(*info), ElementsAre("b"));
  EXPECT_THAT(said, HasSubstr("1 empty files left out"));
}

TEST_F(PrepareTest, BadRequestsSayWhatToDo) {
  EXPECT_EQ(Error(Request("corpus:atlantis", "train")).code(), StatusCode::kNotFound);
  EXPECT_THAT(Error(Request("corpus:atlantis", "train")).message(), HasSubstr("corpus:austen"));
  EXPECT_EQ(Error(Request("corpus:../x", "train")).code(), StatusCode::kNotFound);
  EXPECT_EQ(Error(Request(3, "train")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Error(Request(nullptr, "train")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Error(Request(Json::array(), "train")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Error(Request(Path("absent"), "train")).code(), StatusCode::kNotFound);
  EXPECT_EQ(Error(Request(Write("a.txt", "a"), "test")).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Error(Request(Path("a.txt"), "train", 1.5)).code(), StatusCode::kInvalidArgument);
  DatasetRequest request = Request(Path("a.txt"), "train");
  for (const Json& tokenizer : {Json{{"train", "bpe"}}, Json("words"), Json(3)}) {
    request.tokenizer = tokenizer;
    EXPECT_EQ(Error(request).code(), StatusCode::kInvalidArgument) << tokenizer;
  }
}

TEST_F(PrepareTest, SeveralAtOnceEndWellWithOneDataSet) {
  const auto request = Request(Write("a.txt", std::string(200'000, 'x') + "end"), "train");
  std::vector<Result<DatasetInfo>> results(4, Internal("not run"));
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&] { result = Prepare(request); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) {
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->hash, results[0]->hash);
  }
  EXPECT_EQ(LeftInTmp(), 0u);
}

TEST_F(PrepareTest, DamagedDataSetsAreSaidAndMadeAgain) {
  const auto request = Request(Write("a.txt", "some text"), "all");
  const auto info = Prepare(request);
  const std::string folder = "datasets/" + info->hash;
  Write(folder + "/tokens.bin", std::string(20, '\0'));  // the right size
  EXPECT_EQ(Dataset::Open(home_, info->hash)->Verify().code(), StatusCode::kDataLoss);
  for (const char* file : {"tokens.bin", "documents.bin", "meta.json"}) {
    Write(folder + "/" + file, "x");
    EXPECT_EQ(Dataset::Open(home_, info->hash).status().code(), StatusCode::kDataLoss) << file;
    ASSERT_TRUE(Prepare(request).ok()) << file;
    EXPECT_TRUE(Dataset::Open(home_, info->hash)->Verify().ok()) << file;
  }
  EXPECT_EQ(Dataset::Open(home_, std::string(64, '0')).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(Dataset::Open(home_, "../../etc").status().code(), StatusCode::kInvalidArgument);
}

TEST_F(PrepareTest, FilesGetANameWithDataAdd) {
  const NamedCorpus mine{"mine", {Write("texts/a.txt", "text of mine")}, "CC0"};
  ASSERT_TRUE(AddNamedCorpus(home_, mine, false).ok());
  ASSERT_TRUE(AddNamedCorpus(home_, mine, false).ok()) << "the same again is no error";
  const auto info = Prepare(Request("corpus:mine", "all"));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->name, "mine");
  EXPECT_EQ(info->license, "CC0");
  const NamedCorpus other{"mine", {Path("elsewhere.txt")}, ""};
  EXPECT_EQ(AddNamedCorpus(home_, other, false).code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(AddNamedCorpus(home_, other, true).ok());
  EXPECT_EQ(AddNamedCorpus(home_, {"austen", {"x"}, ""}, true).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(AddNamedCorpus(home_, {"../x", {"x"}, ""}, true).code(), StatusCode::kInvalidArgument);
}

TEST_F(PrepareTest, AustenComesOutOfItsPackage) {
  if (std::system("command -v dpkg-deb > /dev/null") != 0)
    GTEST_SKIP() << "no dpkg-deb on this machine";
  using namespace made_rdata;
  Write("deb/DEBIAN/control",
        "Package: r-cran-janeaustenr\nVersion: 1\nArchitecture: all\n"
        "Maintainer: nobody <nobody@example.org>\nDescription: made up\n");
  Write("deb/usr/lib/R/site-library/janeaustenr/data/Rdata.rdb",
        Block(Vector(3, {"EMMA", "CHAPTER I", "a"})) +
            Block(Vector(3, {"Persuasion", "Chapter 1", "b"})));
  const std::string deb = Path("made.deb");
  ASSERT_EQ(std::system(
                ("dpkg-deb --root-owner-group --build " + Path("deb") + " " + deb + " > /dev/null")
                    .c_str()),
            0);

  const auto train = PrepareDataset(home_, Request("corpus:austen", "train"), {}, {.package = deb});
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_EQ(train->name, "austen");
  EXPECT_THAT(train->license, HasSubstr("public domain"));
  EXPECT_THAT(Documents(*train), ElementsAre("EMMA\nCHAPTER I\na"));
  // The share held out is the corpus's own affair.
  const auto validation = FindDataset(home_, Request("corpus:austen", "validation", 0.2));
  ASSERT_TRUE(validation.ok()) << validation.status();
  EXPECT_EQ(validation->name, "austen/validation");
  EXPECT_THAT(Documents(*validation), ElementsAre("Persuasion\nChapter 1\nb"));
  EXPECT_EQ(LeftInTmp(), 0u);

  const Status no_package =
      PrepareDataset(home_, Request("corpus:austen", "all"), {}, {.package = Write("no.deb", "x")})
          .status();
  EXPECT_EQ(no_package.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(no_package.message(), HasSubstr("dpkg-deb says"));
  EXPECT_EQ(PrepareDataset(home_, Request(Write("a.txt", "a"), "all"), {}, {.package = deb})
                .status()
                .code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gyre
