#pragma once

// A data set of bytes from documents in memory.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trainer/data/dataset.h"
#include "trainer/data/dataset_writer.h"
#include "trainer/data/tokenizer.h"

namespace gyre {

inline std::string MakeDataset(const std::filesystem::path& home,
                               const std::vector<std::string>& documents,
                               const std::string& name = "made") {
  const auto tokenizer = MakeByteTokenizer();
  auto writer = DatasetWriter::Create(home, tokenizer.get());
  EXPECT_TRUE(writer.ok()) << writer.status();
  for (const std::string& document : documents) EXPECT_TRUE(writer->AddDocument(document).ok());
  DatasetInfo described;
  described.name = name;
  const auto info = writer->Finish(described);
  EXPECT_TRUE(info.ok()) << info.status();
  return info->hash;
}

}  // namespace gyre
