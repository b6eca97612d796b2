#include "trainer/data/json_lines.h"

#include <utility>
#include <vector>

namespace gyre {
namespace {

struct Part {
  std::string text;  // a field's name, or the text itself
  bool field = false;
};

Result<std::vector<Part>> PartsOf(std::string_view text) {
  std::vector<Part> parts(1);
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '{' && c != '}') {
      parts.back().text += c;
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == c) {
      parts.back().text += c;
      ++at;
      continue;
    }
    const size_t end = c == '{' ? text.find_first_of("{}", at + 1) : std::string_view::npos;
    if (end == std::string_view::npos || text[end] != '}' || end == at + 1) {
      return InvalidArgument(
          "the template's braces don't pair: a field is {name}, and a brace itself {{ or }}");
    }
    parts.push_back({std::string(text.substr(at + 1, end - at - 1)), true});
    parts.emplace_back();
    at = end;
  }
  if (parts.size() == 1) return InvalidArgument("the template has no field, such as {text}");
  return parts;
}

std::string KeysOf(const Json& object) {
  std::string keys;
  for (const auto& [key, value] : object.items()) keys += (keys.empty() ? "" : ", ") + key;
  return keys.empty() ? "none" : keys;
}

Result<std::string> Field(const Json& object, const std::string& name, bool numbers) {
  const auto found = object.find(name);
  if (found == object.end()) {
    return InvalidArgument("there is no field '" + name + "'; the fields are: " + KeysOf(object));
  }
  if (found->is_string()) return found->get<std::string>();
  if (numbers && found->is_primitive() && !found->is_null()) return found->dump();
  return InvalidArgument("the field '" + name + "' is " + found->type_name() + ", not text");
}

}  // namespace

Status CheckRecordFormat(const RecordFormat& format) {
  if (format.text_template.empty()) return OkStatus();
  if (!format.field.empty()) return InvalidArgument("give a field or a template, not both");
  return PartsOf(format.text_template).status();
}

Result<std::string> RecordReader::TextOf(std::string_view line) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return InvalidArgument(object.is_discarded() ? "this is not JSON; one object a line is wanted"
                                                 : std::string("this is JSON, but ") +
                                                       object.type_name() + " and not an object");
  }
  if (!format_.text_template.empty()) {
    GYRE_ASSIGN_OR_RETURN(const auto parts, PartsOf(format_.text_template));
    std::string text;
    for (const Part& part : parts) {
      if (!part.field) {
        text += part.text;
        continue;
      }
      GYRE_ASSIGN_OR_RETURN(const std::string value, Field(object, part.text, /*numbers=*/true));
      text += value;
    }
    return text;
  }
  for (const char* known : {"text", "content", "story"}) {
    if (format_.field.empty() && object.contains(known)) format_.field = known;
  }
  if (format_.field.empty()) {
    return InvalidArgument(
        "none of the fields text, content and story is there, but: " + KeysOf(object) +
        "; say which with {path: FILE, field: NAME} or {path: FILE, template: "
        "\"...{NAME}...\"}");
  }
  return Field(object, format_.field, /*numbers=*/false);
}

}  // namespace gyre
