#pragma once

// A sweep's report as one HTML page that needs nothing else: pictures and rows are inside, no
// script is, and the page forbids itself to load anything. Whatever users named or wrote is shown
// as that text. Pure: the same results give the same page.

#include <string>
#include <vector>

#include "cli/output_section.h"
#include "results/report_facts.h"

namespace gyre {

struct ReportFigure {
  std::string title;
  std::string svg;        // empty: it could not be drawn, and the notes say why
  std::string csv;        // its rows
  std::string file_name;  // under which a browser saves the rows
  std::vector<std::string> notes;
};

struct Report {
  ReportFacts facts;
  std::string program;                     // version of who writes it
  std::vector<OutputSection> comparisons;  // one a validation set
  std::vector<ReportFigure> figures;
  std::vector<std::string> left_out;  // "contexts: ...", why there is no such figure
};

std::string RenderReport(const Report& report);

/// The text inside an HTML element or attribute. What is no UTF-8 becomes U+FFFD, control
/// characters but tab and newline too.
std::string EscapeHtml(std::string_view text);

}  // namespace gyre
