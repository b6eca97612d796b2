#pragma once

// Jane Austen's six novels from Debian's r-cran-janeaustenr: public domain, 4 MB, the text of the
// quick start. A document is a chapter. Persuasion is held out, so validation is on a book that no
// chapter of training comes from.

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "trainer/data/corpus_text.h"

namespace gyre {

/// From the package's Rdata.rdb. DATA_LOSS: damaged, or not the novels.
Result<CorpusText> AustenText(std::string_view rdb);

/// A novel's lines as chapters: each begins at its heading ("CHAPTER IV", "Chapter 4"), with a
/// volume's heading right before it; what stands before the first heading belongs to the first
/// chapter. Put together they are the lines joined with newlines.
std::vector<std::string> Chapters(const std::vector<std::string>& lines);

}  // namespace gyre
