#include "trainer/data/source_files.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/trainer/data/temporary_home.h"
#include "trainer/data/document_reader.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The documents of a file, end to end.
class WholeText : public DocumentSink {
 public:
  Status Add(std::string_view piece) override {
    text += piece;
    return OkStatus();
  }
  Status End() override { return OkStatus(); }
  std::string text;
};

Result<std::string> ReadWhole(const SourceFile& file) {
  WholeText whole;
  GYRE_RETURN_IF_ERROR(ReadDocuments(file, &whole, {}));
  return whole.text;
}

class SourceFilesTest : public TemporaryHomeTest {
 protected:
  // The names below home, in order.
  std::vector<std::string> List(const std::vector<std::string>& paths) {
    const auto files = ListSourceFiles(Sources(paths));
    EXPECT_TRUE(files.ok()) << files.status();
    std::vector<std::string> names;
    if (!files.ok()) return names;
    for (const SourceFile& file : *files)
      names.push_back(file.path.string().substr(home_.string().size() + 1));
    return names;
  }
  Status Error(const std::vector<std::string>& paths) {
    return ListSourceFiles(Sources(paths)).status();
  }
  static std::vector<SourcePath> Sources(const std::vector<std::string>& paths) {
    std::vector<SourcePath> sources;
    for (const std::string& path : paths) sources.push_back({path});
    return sources;
  }
  std::string Read(const std::string& content) {
    const auto files = ListSourceFiles({{Write("read.txt", content)}});
    return ReadWhole(files->at(0)).value();
  }
};

TEST_F(SourceFilesTest, AFolderIsItsTextsSortedAndThoseBelow) {
  Write("texts/b.txt", "b"), Write("texts/a.txt", "a"), Write("texts/deep/er/c.txt", "c"),
      Write("texts/note.md", "n");
  EXPECT_THAT(List({Path("texts")}),
              ElementsAre("texts/a.txt", "texts/b.txt", "texts/deep/er/c.txt"));
  EXPECT_THAT(List({Path("texts/")}),
              ElementsAre("texts/a.txt", "texts/b.txt", "texts/deep/er/c.txt"));
}

TEST_F(SourceFilesTest, AGlobIsItsMatchesSortedAndAFileNamedTwiceIsTakenOnce) {
  Write("b1.txt", "b"), Write("a1.txt", "a"), Write("c.md", "c");
  EXPECT_THAT(List({Path("*1.txt")}), ElementsAre("a1.txt", "b1.txt"));
  EXPECT_THAT(List({Path("c.md"), Path("*.txt"), Path("a1.txt")}),
              ElementsAre("c.md", "a1.txt", "b1.txt"));
}

TEST_F(SourceFilesTest, AFileWhoseNameLooksLikeAGlobIsAFile) {
  Write("part[1].txt", "x"), Write("part1.txt", "y");
  EXPECT_THAT(List({Path("part[1].txt")}), ElementsAre("part[1].txt"));
}

TEST_F(SourceFilesTest, WhatIsNotThereOrNotATextIsNamed) {
  Write("empty-folder/readme.md", "x"), Write("a.parquet", "PAR1"), Write("a.txt.xz", "x");
  Write("mixed/a.txt", "x"), Write("mixed/b.jsonl", "{}"), Write("a.txt", "x");
  EXPECT_EQ(Error({Path("absent.txt")}).code(), StatusCode::kNotFound);
  EXPECT_THAT(Error({Path("absent.txt")}).message(), HasSubstr("absent.txt"));
  EXPECT_THAT(Error({Path("*.text")}).message(), HasSubstr("nothing matches"));
  EXPECT_THAT(Error({Path("empty-folder")}).message(), HasSubstr("no .txt, .jsonl or .bin file"));
  EXPECT_THAT(Error({Path("**/*.txt")}).message(), HasSubstr("name the folder"));
  EXPECT_EQ(Error({Path("a.parquet")}).code(), StatusCode::kUnimplemented);
  EXPECT_THAT(Error({Path("a.parquet")}).message(), HasSubstr("to_json"));
  EXPECT_EQ(Error({Path("a.txt.xz")}).code(), StatusCode::kUnimplemented);
  EXPECT_THAT(Error({Path("mixed")}).message(),
              HasSubstr("several kinds of texts (a.txt, b.jsonl)"));
  EXPECT_THAT(ListSourceFiles({{Path("a.txt"), {.field = "text"}}}).status().message(),
              HasSubstr("has no records"));
  EXPECT_EQ(Error({"/dev/null"}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Error({""}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Error({}).code(), StatusCode::kInvalidArgument);
}

TEST_F(SourceFilesTest, APipeInAFolderIsPassedOverAndNeverOpened) {
  Write("texts/a.txt", "a");
  ASSERT_EQ(mkfifo(Path("texts/pipe.txt").c_str(), 0600), 0);
  EXPECT_THAT(List({Path("texts")}), ElementsAre("texts/a.txt"));
}

TEST_F(SourceFilesTest, ByteOrderMarkAndCarriageReturnsGoTheRestStays) {
  EXPECT_EQ(Read("\xEF\xBB\xBFone\r\ntwo\r\n"), "one\ntwo\n");
  EXPECT_EQ(Read("old\rmac\r\r\nx\r"), "old\rmac\r\nx\r");
  EXPECT_EQ(Read("caf\xE9 \xFF\xFE"), "caf\xE9 \xFF\xFE");
  EXPECT_EQ(Read(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST_F(SourceFilesTest, Utf16IsRefusedWithWhatToDo) {
  const auto files = ListSourceFiles({{Write("wide.txt", std::string("\xFF\xFEh\0i\0", 6))}});
  const Status status = ReadWhole(files->at(0)).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("iconv"));
}

TEST_F(SourceFilesTest, AFileThatVanishesOrChangesAfterListingIsSaid) {
  const auto files = ListSourceFiles({{Write("a.txt", "one")}});
  Write("a.txt", "other");
  EXPECT_EQ(ReadWhole(files->at(0)).status().code(), StatusCode::kUnavailable);
  std::filesystem::remove(Path("a.txt"));
  EXPECT_THAT(ReadWhole(files->at(0)).status().message(), HasSubstr("vanished"));
}

TEST_F(SourceFilesTest, TheStampChangesWithNameSizeTimeAndNumber) {
  Write("texts/a.txt", "one"), Write("texts/b.txt", "two");
  const auto stamp = [&] { return SourceStamp(*ListSourceFiles({{Path("texts")}})); };
  const std::string before = stamp();
  EXPECT_EQ(stamp(), before);
  std::filesystem::last_write_time(
      Path("texts/a.txt"), std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  const std::string touched = stamp();
  EXPECT_NE(touched, before);
  Write("texts/c.txt", "three");
  const std::string added = stamp();
  EXPECT_NE(added, touched);
  std::filesystem::rename(Path("texts/c.txt"), Path("texts/d.txt"));
  EXPECT_NE(stamp(), added);
}

}  // namespace
}  // namespace gyre
