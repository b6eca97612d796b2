#include "cli/output_format.h"

#include <map>
#include <string>

namespace gyre {

void AddFormatOption(CLI::App* command, OutputFormat* format) {
  const std::map<std::string, OutputFormat> names = {{"table", OutputFormat::kTable},
                                                     {"json", OutputFormat::kJson},
                                                     {"csv", OutputFormat::kCsv},
                                                     {"md", OutputFormat::kMarkdown}};
  command->add_option("--format", *format, "How the result is written: table, json, csv or md")
      ->transform(CLI::CheckedTransformer(names).description(""))
      ->type_name("FORMAT")
      ->default_str("table");
}

}  // namespace gyre
