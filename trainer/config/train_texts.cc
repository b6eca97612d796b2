// How the texts that a job trains on are written: on the wire, in job keys and in the database.

#include "trainer/config/job_config.h"

namespace gyre {

Json ToJson(const std::vector<TrainText>& texts) {
  if (texts.size() == 1) return texts.front().hash;
  Json json = Json::array();
  for (const TrainText& text : texts) {
    json.push_back({{"hash", text.hash}, {"weight", text.weight}});
  }
  return json;
}

Result<std::vector<TrainText>> TrainTextsFromJson(const Json& json) {
  if (json.is_string()) return std::vector<TrainText>{{.hash = json.get<std::string>()}};
  const Status fault = InvalidArgument(
      "datasets.train must be a string, or a list of {hash, weight} with weights above 0");
  if (!json.is_array()) return fault;
  std::vector<TrainText> texts;
  for (const Json& item : json) {
    const bool whole = item.is_object() && item.size() == 2 && item.contains("hash") &&
                       item.contains("weight") && item["hash"].is_string() &&
                       item["weight"].is_number() && item["weight"].get<double>() > 0;
    if (!whole) return fault;
    texts.push_back({item["hash"].get<std::string>(), item["weight"].get<double>()});
  }
  return texts;
}

std::string TextOf(const std::vector<TrainText>& texts) {
  return texts.size() == 1 ? texts.front().hash : ToJson(texts).dump();
}

Json TrainTextsJson(const std::string& text) {
  if (!text.starts_with('[')) return text;
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

}  // namespace gyre
