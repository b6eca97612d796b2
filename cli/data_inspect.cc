#include "cli/data_inspect.h"

#include <algorithm>

#include "cli/text_width.h"

namespace gyre {
namespace {

constexpr size_t kShownDocuments = 3;
constexpr int64_t kShownTokens = 60;

// Tokens of each document, its start among them, ascending.
std::vector<int64_t> Lengths(const Dataset& dataset) {
  std::vector<int64_t> lengths;
  const auto starts = dataset.document_starts();
  for (size_t d = 0; d < starts.size(); ++d) {
    const int64_t end =
        d + 1 < starts.size() ? static_cast<int64_t>(starts[d + 1]) : dataset.tokens();
    lengths.push_back(end - static_cast<int64_t>(starts[d]));
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

// Text that shows where it has no visible characters.
std::string Shown(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else {
      text += c;
    }
  }
  return Visible(text);
}

std::string ShownToken(const Tokenizer& tokenizer, int32_t id) {
  if (id == tokenizer.document_start()) return "<start>";
  const std::string_view bytes = tokenizer.BytesOf(id);
  return bytes.empty() ? "<" + std::to_string(id) + ">" : Shown(bytes);
}

}  // namespace

QueryTable DescribeParts(const std::vector<InspectedPart>& parts) {
  QueryTable table{{"property"}, {}};
  const std::vector<std::string> properties = {
      "name",          "source",          "license",       "hash",
      "content",       "tokenizer",       "vocabulary",    "bytes",
      "tokens",        "bytes a token",   "documents",     "shortest document",
      "10% are below", "median document", "90% are below", "longest document"};
  for (const std::string& property : properties) table.rows.push_back({property});
  for (const InspectedPart& part : parts) {
    const DatasetInfo& info = part.dataset->info();
    const std::vector<int64_t> lengths = Lengths(*part.dataset);
    const auto at = [&lengths](double share) {
      return lengths[static_cast<size_t>(static_cast<double>(lengths.size() - 1) * share)];
    };
    const int64_t of_text = info.tokens - info.documents;
    QueryValue density;
    if (info.bytes > 0 && of_text > 0) {
      density = static_cast<double>(info.bytes) / static_cast<double>(of_text);
    }
    const std::vector<QueryValue> values = {
        info.name,
        info.source,
        info.license,
        info.hash,
        part.content.ok() ? std::string("as its hash says") : part.content.message(),
        info.tokenizer,
        int64_t{info.vocab_size},
        info.bytes,
        info.tokens,
        density,
        info.documents,
        at(0),
        at(0.1),
        at(0.5),
        at(0.9),
        at(1)};
    table.columns.push_back(part.part);
    for (size_t i = 0; i < values.size(); ++i) table.rows[i].push_back(values[i]);
  }
  return table;
}

Result<std::string> ShowDocuments(const Dataset& dataset, const std::string& part, int width,
                                  bool color) {
  GYRE_ASSIGN_OR_RETURN(const auto tokenizer, dataset.OpenTokenizer());
  const std::string dim = color ? "\x1b[2m" : "", plain = color ? "\x1b[0m" : "";
  const auto starts = dataset.document_starts();
  std::string text;
  for (size_t d = 0; d < std::min(starts.size(), kShownDocuments); ++d) {
    const auto begin = static_cast<int64_t>(starts[d]);
    const int64_t end =
        d + 1 < starts.size() ? static_cast<int64_t>(starts[d + 1]) : dataset.tokens();
    std::vector<int32_t> ids(static_cast<size_t>(std::min(end - begin, kShownTokens)));
    GYRE_RETURN_IF_ERROR(dataset.Read(begin, ids));
    text += "\n" + part + ", document " + std::to_string(d + 1) + " of " +
            std::to_string(starts.size()) + ", " + std::to_string(end - begin) + " tokens:\n";
    int column = 0;
    for (const int32_t id : ids) {
      const std::string token = ShownToken(*tokenizer, id);
      const bool mark = id == tokenizer->document_start();
      const int columns = DisplayWidth(token) + 1;
      if (width > 0 && column > 0 && column + columns > width) {
        text += '\n';
        column = 0;
      }
      text += (mark ? dim + token + plain : token) + dim + "|" + plain;
      column += columns;
    }
    text += end - begin > kShownTokens ? "...\n" : "\n";
  }
  return text;
}

}  // namespace gyre
