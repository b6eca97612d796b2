#include "cli/output_section.h"

#include "cli/text_width.h"

namespace gyre {
namespace {

std::string MarkdownList(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += "- " + EscapeMarkdown(sentence) + "\n";
  return text.empty() ? "" : "\n" + text;
}

std::string Sentences(const std::vector<std::string>& sentences, int width) {
  std::string text;
  for (const std::string& sentence : sentences) text += Wrap(Visible(sentence), width, 2) + "\n";
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

std::string RenderSection(const OutputSection& section, OutputFormat format, int width) {
  std::vector<std::string> notes = section.notes;
  for (std::string& note : notes) note = "note: " + note;
  if (format == OutputFormat::kMarkdown) {
    return EscapeMarkdown(section.title) + "\n\n" + RenderMarkdown(section.table) +
           MarkdownList(section.sentences) + MarkdownList(notes);
  }
  return Wrap(Visible(section.title), width, 2) + "\n\n" + RenderTable(section.table, width) +
         Sentences(section.sentences, width) + Sentences(notes, width);
}

}  // namespace gyre
