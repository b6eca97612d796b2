#include "trainer/data/document_reader.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstring>

#include "tests/trainer/data/temporary_home.h"
#include "trainer/data/byte_stream.h"
#include "trainer/data/json_lines.h"

namespace gyre {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Collector : public DocumentSink {
 public:
  Status Add(std::string_view piece) override {
    largest = std::max(largest, piece.size());
    bytes += piece.size();
    if (kept) text += piece;
    return OkStatus();
  }
  Status End() override {
    documents.push_back(std::move(text));
    text.clear();
    return OkStatus();
  }
  bool kept = true;
  std::string text;
  std::vector<std::string> documents;
  size_t largest = 0;
  uint64_t bytes = 0;
};

std::string Gzip(const std::string& text) {
  z_stream zlib{};
  deflateInit2(&zlib, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&zlib, text.size()), '\0');
  zlib.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  zlib.avail_in = static_cast<uInt>(text.size());
  zlib.next_out = reinterpret_cast<Bytef*>(packed.data());
  zlib.avail_out = static_cast<uInt>(packed.size());
  deflate(&zlib, Z_FINISH);
  packed.resize(zlib.total_out);
  deflateEnd(&zlib);
  return packed;
}

std::string Ids(const std::vector<uint16_t>& ids) {
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof ids[0]};
}

class DocumentReaderTest : public TemporaryHomeTest {
 protected:
  Result<std::vector<std::string>> Read(const std::string& name, const std::string& content,
                                        const RecordFormat& format = {}, int ids = 0,
                                        int document_start = -1) {
    auto files = ListSourceFiles({{Write(name, content), format}});
    if (!files.ok()) return files.status();
    files->at(0).ids = ids;
    files->at(0).document_start = document_start;
    Collector collector;
    GYRE_RETURN_IF_ERROR(ReadDocuments(files->at(0), &collector, {}));
    return collector.documents;
  }
  std::string Fault(const std::string& name, const std::string& content,
                    const RecordFormat& format = {}, int ids = 0) {
    const auto read = Read(name, content, format, ids);
    EXPECT_FALSE(read.ok());
    EXPECT_THAT(read.status().message(), HasSubstr(name));
    return read.status().message();
  }
  static std::vector<int32_t> Decoded(const std::string& document) {
    std::vector<int32_t> ids(document.size() / 4);
    std::memcpy(ids.data(), document.data(), document.size());
    return ids;
  }
};

TEST_F(DocumentReaderTest, ALineIsADocumentAndItsFieldIsChosenOnce) {
  EXPECT_THAT(*Read("a.jsonl",
                    "\xEF\xBB\xBF{\"id\": 1, \"content\": \"one\\n\\u00e9\"}\r\n\r\n"
                    "{\"content\": \"two\\r\\n\", \"text\": \"no\"}\n{\"content\": \"\"}\n  \n"
                    "{\"content\": \"last\"}"),
              ElementsAre("one\n\xC3\xA9", "two\r\n", "last"));
  EXPECT_THAT(*Read("caf\xC3\xA9/\xE6\x97\xA5\xE6\x9C\xAC.jsonl", "{\"story\": \"x\"}\n"),
              ElementsAre("x"));  // microsoft/nni#5086: paths that are not ASCII
  EXPECT_THAT(*Read("b.jsonl", "{\"body\": \"x\", \"text\": \"y\"}\n", {.field = "body"}),
              ElementsAre("x"));
  EXPECT_THAT(*Read("c.jsonl", "{\"q\": \"why?\", \"a\": 42, \"b\": true, \"x\": null}\n",
                    {.text_template = "Q: {q}\nA: {a} {{{b}}}\n"}),
              ElementsAre("Q: why?\nA: 42 {true}\n"));
}

TEST_F(DocumentReaderTest, FaultsOfAJsonLineNameFileAndLine) {
  EXPECT_THAT(Fault("a.jsonl", "{\"text\": \"x\"}\nnonsense\n"),
              HasSubstr("a.jsonl:2: this is not JSON"));
  EXPECT_THAT(Fault("a.jsonl", "{\"text\": \"x\"}\n\n[1]\n"),
              HasSubstr(":3: this is JSON, but array"));
  EXPECT_THAT(Fault("a.jsonl", "{\"text\": \"x\"}\n{\"text\": 5}\n"),
              HasSubstr(":2: the field 'text' is number"));
  EXPECT_THAT(Fault("a.jsonl", "{\"text\": \"x\"}\n{\"content\": \"y\"}\n"),
              HasSubstr(":2: there is no field 'text'; the fields are: content"));
  EXPECT_THAT(
      Fault("a.jsonl", "{\"prompt\": \"x\", \"answer\": 1}\n"),
      HasSubstr(":1: none of the fields text, content and story is there, but: prompt, answer"));
  EXPECT_THAT(Fault("a.jsonl", "{\"q\": null}\n", {.text_template = "{q}"}),
              HasSubstr(":1: the field 'q' is null"));
  EXPECT_THAT(Fault("a.jsonl", std::string("{\"text\": \"a\0b\"}\n", 15)),
              HasSubstr(":1: this is not"));
  EXPECT_THAT(Fault("a.jsonl", "{\"text\": \"caf\xE9\"}\n"), HasSubstr(":1: this is not JSON"));
  EXPECT_THAT(Fault("a.jsonl", std::string(100'000, '[') + "\n"),
              HasSubstr(":1: this is not JSON"));
  EXPECT_THAT(Fault("a.jsonl", "{\"text\": \"cut o"), HasSubstr(":1: this is not JSON"));
  for (const char* bad : {"{", "}", "{}", "{a", "a}", "{a{b}}", "no field"}) {
    EXPECT_FALSE(CheckRecordFormat({.text_template = bad}).ok()) << bad;
  }
}

TEST_F(DocumentReaderTest, ALineOf100MegabytesIsRefusedBeforeItIsTaken) {
  EXPECT_THAT(Fault("a.jsonl", "{\"text\": \"" + std::string(100'000'000, 'x') + "\"}\n"),
              HasSubstr(":1: the line is longer than 64 MiB"));
}

TEST_F(DocumentReaderTest, PackedTextIsReadThroughAndDamageIsSaid) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "line " + std::to_string(i * 7919) + "\r\n";
  std::string clean = text;
  std::erase(clean, '\r');
  const std::string packed = Gzip(text);
  EXPECT_THAT(*Read("a.txt.gz", packed), ElementsAre(clean));
  EXPECT_THAT(*Read("a.txt.gz", packed + packed), ElementsAre(clean + clean));
  EXPECT_THAT(*Read("a.jsonl.gz", Gzip("{\"text\": \"x\"}\n")), ElementsAre("x"));
  for (const size_t size : {size_t{0}, size_t{5}, packed.size() / 2, packed.size() - 1}) {
    EXPECT_THAT(Fault("a.txt.gz", packed.substr(0, size)), HasSubstr("cut off")) << size;
  }
  EXPECT_THAT(Fault("a.txt.gz", "this is not packed at all"), HasSubstr("damaged"));
  std::string flipped = packed;
  flipped[packed.size() / 2] ^= 0x10;
  EXPECT_THAT(Fault("a.txt.gz", flipped), HasSubstr("damaged"));
  EXPECT_THAT(Fault("a.txt.gz", packed + "garbage"), HasSubstr("damaged"));
}

// 50 MB out of 50 kB: it streams, so memory does not notice.
TEST_F(DocumentReaderTest, AFileThatUnpacksToAThousandTimesItsSizeStreams) {
  const auto files = ListSourceFiles({{Write("bomb.txt.gz", Gzip(std::string(50'000'000, 'a')))}});
  Collector collector;
  collector.kept = false;
  ASSERT_TRUE(ReadDocuments(files->at(0), &collector, {}).ok());
  EXPECT_EQ(collector.bytes, 50'000'000u);
  EXPECT_LE(collector.largest, size_t{1} << 20);
}

TEST_F(DocumentReaderTest, AFaultOfTheSinkIsNotTheFiles) {
  class Full : public DocumentSink {
   public:
    Status Add(std::string_view) override { return ResourceExhausted("the disk is full"); }
    Status End() override { return OkStatus(); }
  } full;
  const auto files = ListSourceFiles({{Write("a.jsonl", "{\"text\": \"x\"}\n")}});
  EXPECT_EQ(ReadDocuments(files->at(0), &full, {}), ResourceExhausted("the disk is full"));
}

TEST_F(DocumentReaderTest, TokenFilesOfBothLayouts) {
  const auto whole = Read("a.bin", Ids({5, 6, 7}), {}, 8);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->size(), 1u);
  EXPECT_THAT(Decoded(whole->at(0)), ElementsAre(5, 6, 7));

  const auto several = Read("b.bin", Ids({9, 5, 6, 9, 9, 7}), {}, 10, 9);
  ASSERT_TRUE(several.ok()) << several.status();
  ASSERT_EQ(several->size(), 2u);
  EXPECT_THAT(Decoded(several->at(0)), ElementsAre(5, 6));
  EXPECT_THAT(Decoded(several->at(1)), ElementsAre(7));

  std::string header(1024, '\0');
  const int32_t head[] = {20240520, 1, 3};
  std::memcpy(header.data(), head, sizeof head);
  const auto with_header = Read("c.bin", header + Ids({5, 6, 7}), {}, 8);
  ASSERT_TRUE(with_header.ok()) << with_header.status();
  EXPECT_THAT(Decoded(with_header->at(0)), ElementsAre(5, 6, 7));
  EXPECT_THAT(Fault("c.bin", header + Ids({5, 6}), {}, 8), HasSubstr("its header says 3 ids"));

  EXPECT_THAT(Fault("d.bin", "abc", {}, 30000), HasSubstr("an even number of bytes"));
  EXPECT_THAT(Fault("d.bin", Ids({5, 6, 70}), {}, 70), HasSubstr("the id at place 2 is 70"));
  EXPECT_THAT(*Read("e.bin", "", {}, 8), ElementsAre());
  std::vector<uint16_t> many(300'000, 1);
  many.back() = 9;
  EXPECT_THAT(Fault("f.bin", Ids(many), {}, 8), HasSubstr("at place 299999 is 9"));
}

}  // namespace
}  // namespace gyre
