#include "cli/output_format.h"

#include <map>
#include <string>

namespace gyre {

void AddFormatOption(CLI::App* command, OutputFormat* format) {
  // CLI11's own transformer would name the numbers behind the words when it refuses one.
  const auto number_of = [](std::string& text) -> std::string {
    const std::map<std::string, OutputFormat> names = {{"table", OutputFormat::kTable},
                                                       {"json", OutputFormat::kJson},
                                                       {"csv", OutputFormat::kCsv},
                                                       {"md", OutputFormat::kMarkdown}};
    const auto format = names.find(text);
    if (format == names.end()) return "must be table, json, csv or md, and is '" + text + "'";
    text = std::to_string(static_cast<int>(format->second));
    return "";
  };
  command->add_option("--format", *format, "How the result is written: table, json, csv or md")
      ->transform(CLI::Validator(number_of, ""))
      ->type_name("FORMAT")
      ->default_str("table");
}

}  // namespace gyre
