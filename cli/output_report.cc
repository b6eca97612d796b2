#include "cli/output_report.h"

#include <algorithm>

#include "cli/output_table.h"
#include "results/numbers.h"

namespace gyre {
namespace {

constexpr char kStyle[] = R"css(
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 64rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; margin-bottom: .2rem; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; border-bottom: 1px solid #ccc; }
h3 { font-size: 1.05rem; margin-top: 1.8rem; }
.question { font-size: 1.15rem; font-style: italic; }
.quiet { color: #666; font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid #e4e4e4;
  vertical-align: top; white-space: pre-wrap; overflow-wrap: anywhere; }
th { border-bottom: 2px solid #888; }
td:first-child { white-space: nowrap; }
th.number, td.number { text-align: right; white-space: nowrap; }
figure { margin: 1.5rem 0; }
figure img { max-width: 100%; height: auto; }
pre { background: #f6f6f6; padding: .8rem; overflow-x: auto; font-size: .85rem; }
@media print { body { max-width: none; margin: 0; } figure, tr { break-inside: avoid; }
  details { display: none; } }
)css";

// 1..4: the bytes of a well-formed UTF-8 sequence at the beginning of `text`; 0: there is none.
size_t Utf8Length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xc2 && lead < 0xe0   ? 2
                        : (lead & 0xf0) == 0xe0       ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && at(1) < 0xa0) || (lead == 0xf0 && at(1) < 0x90);
  const bool surrogate = lead == 0xed && at(1) >= 0xa0;
  const bool beyond = lead == 0xf4 && at(1) >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

// Of any bytes, for a data: URL.
std::string PercentEncode(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
                       (byte >= 'a' && byte <= 'z') || byte == '-' || byte == '.' || byte == '_' ||
                       byte == '~' || byte == '/' || byte == ',' || byte == '=' || byte == ':';
    if (plain) {
      text += c;
    } else {
      text += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return text;
}

std::string Paragraph(const std::string& style, const std::string& text) {
  if (text.empty()) return "";
  const std::string attribute = style.empty() ? "" : " class=\"" + style + "\"";
  return "<p" + attribute + ">" + EscapeHtml(text) + "</p>\n";
}

std::string Bullets(const std::vector<std::string>& sentences, const std::string& style = "") {
  if (sentences.empty()) return "";
  std::string html = style.empty() ? "<ul>\n" : "<ul class=\"" + style + "\">\n";
  for (const std::string& sentence : sentences) html += "<li>" + EscapeHtml(sentence) + "</li>\n";
  return html + "</ul>\n";
}

std::string Cell(const char* tag, const std::string& text, bool number) {
  const std::string name(tag);
  return "<" + name + (number ? " class=\"number\">" : ">") + EscapeHtml(text) + "</" + name + ">";
}

std::string Table(const TextTable& table) {
  std::string html = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const TextColumn& column : table.columns) html += Cell("th", column.name, column.right);
  html += "</tr></thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (size_t i = 0; i < row.size(); ++i) html += Cell("td", row[i], table.columns[i].right);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string CellText(const QueryValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return FormatCount(*real);
  return "";
}

TextTable ToText(const QueryTable& table) {
  TextTable text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool number = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return std::holds_alternative<int64_t>(row[i]) || std::holds_alternative<double>(row[i]);
    });
    text.columns.push_back({table.columns[i], number});
  }
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const QueryValue& value : row) cells.push_back(CellText(value));
    text.rows.push_back(std::move(cells));
  }
  return text;
}

std::string TableOr(const QueryTable& table, const std::string& nothing) {
  return table.rows.empty() ? Paragraph("quiet", nothing) : Table(ToText(table));
}

std::string StateWords(const ReportFacts& facts) {
  std::string words = std::to_string(facts.jobs) + (facts.jobs == 1 ? " job: " : " jobs: ");
  for (size_t i = 0; i < facts.states.size(); ++i) {
    std::string state = facts.states[i].first;
    for (char& c : state) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
    words += (i == 0 ? "" : ", ") + std::to_string(facts.states[i].second) + " " + state;
  }
  if (facts.reused > 0) {
    words += "; " + std::to_string(facts.reused) + " of them took the results of another job";
  }
  return words;
}

std::string Head(const Report& report) {
  const ReportFacts& facts = report.facts;
  std::string when = "Submitted " + facts.submitted_at;
  if (!facts.submitted_by.empty()) when += " by " + facts.submitted_by;
  when += facts.ended_at.empty() ? ", not finished" : ", finished " + facts.ended_at;
  return "<h1>" + EscapeHtml(facts.sweep) + "</h1>\n" + Paragraph("", facts.description) +
         Paragraph("question", facts.question) +
         Paragraph("quiet", when + ". " + StateWords(facts) + ".");
}

std::string Comparisons(const Report& report) {
  std::string html = "<h2>Comparison</h2>\n";
  for (const OutputSection& section : report.comparisons) {
    html += Paragraph("", section.title) + Table(section.table) + Bullets(section.sentences) +
            Bullets(section.notes, "quiet");
  }
  return html;
}

// The picture has the title in it.
std::string Figure(const ReportFigure& figure) {
  const std::string title = EscapeHtml(figure.title);
  std::string html = "<figure>\n";
  if (figure.svg.empty()) {
    html += "<figcaption><strong>" + title + "</strong></figcaption>\n";
  } else {
    html += "<img alt=\"" + title + "\" src=\"data:image/svg+xml," + PercentEncode(figure.svg) +
            "\">\n";
  }
  html += Bullets(figure.notes, "quiet");
  html += "<p class=\"quiet\"><a download=\"" + EscapeHtml(figure.file_name) +
          "\" href=\"data:text/csv;charset=utf-8," + PercentEncode(figure.csv) +
          "\">its rows as CSV</a></p>\n";
  return html + "</figure>\n";
}

std::string Figures(const Report& report) {
  std::string html = "<h2>Plots</h2>\n";
  for (const ReportFigure& figure : report.figures) html += Figure(figure);
  if (!report.left_out.empty()) {
    html += "<details><summary>Plots that this sweep has no data for</summary>\n" +
            Bullets(report.left_out) + "</details>\n";
  }
  return html;
}

std::string Configuration(const Report& report) {
  const ReportFacts& facts = report.facts;
  return "<h2>Configuration</h2>\n<p>What the variants do not share:</p>\n" +
         TableOr(facts.variants, "There are no variants.") +
         "<details><summary>What they share, with every default</summary>\n<pre>" +
         EscapeHtml(facts.common) + "</pre></details>\n<details><summary>" +
         EscapeHtml(facts.file.empty() ? "The sweep as it was submitted"
                                       : facts.file + " as it was submitted") +
         "</summary>\n<pre>" + EscapeHtml(facts.yaml) + "</pre></details>\n";
}

std::string Provenance(const Report& report) {
  const ReportFacts& facts = report.facts;
  std::string html = "<h2>Provenance</h2>\n<h3>Texts</h3>\n" +
                     TableOr(facts.texts, "No text is recorded.") + "<h3>Machines</h3>\n" +
                     TableOr(facts.machines, "No job has succeeded.");
  if (!facts.failures.rows.empty()) {
    html += "<h3>Attempts that ended badly</h3>\n" + Table(ToText(facts.failures));
  }
  if (!facts.stopped.rows.empty()) {
    html += "<h3>Jobs that were stopped early</h3>\n" + Table(ToText(facts.stopped)) +
            Paragraph("quiet", "They are left out of what compares the ends of jobs.");
  }
  return html + Paragraph("quiet", "Written by gyre " + report.program + " from the database " +
                                       facts.database + ".");
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char c = text.front();
    if (length == 0 ||
        (length == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') ||
        c == 0x7f) {
      html += "\xef\xbf\xbd";
    } else if (c == '&') {
      html += "&amp;";
    } else if (c == '<') {
      html += "&lt;";
    } else if (c == '>') {
      html += "&gt;";
    } else if (c == '"') {
      html += "&quot;";
    } else if (c == '\'') {
      html += "&#39;";
    } else {
      html += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return html;
}

std::string RenderReport(const Report& report) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
         "data:; style-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
         EscapeHtml(report.facts.sweep) + "</title>\n<style>" + kStyle +
         "</style>\n</head>\n<body>\n" + Head(report) + Comparisons(report) + Figures(report) +
         Configuration(report) + Provenance(report) + "</body>\n</html>\n";
}

}  // namespace gyre
