#include "bench/contestant.h"

#include "bench/step_server.h"

namespace gyre {

double NumberIn(const Json& answer, const std::string& key) {
  if (!answer.is_object()) return 0;
  const auto found = answer.find(key);
  return found != answer.end() && found->is_number() ? found->get<double>() : 0;
}

Result<std::unique_ptr<Contestant>> Contestant::Start(const ProcessCommand& command) {
  auto contestant = std::make_unique<Contestant>();
  const double started = WallSeconds();
  GYRE_ASSIGN_OR_RETURN(contestant->process_, PipedProcess::Start(command));
  GYRE_ASSIGN_OR_RETURN(contestant->about_, contestant->ReadAnswer());
  const auto absent = contestant->about_.find("absent");
  if (absent != contestant->about_.end()) return Unavailable(absent->get<std::string>());
  contestant->start_seconds_ = NumberIn(contestant->about_, "ready") - started;
  return contestant;
}

Result<Json> Contestant::Steps(int count) {
  GYRE_RETURN_IF_ERROR(process_->WriteLine(std::to_string(count)));
  return ReadAnswer();
}

Result<Json> Contestant::ReadAnswer() {
  GYRE_ASSIGN_OR_RETURN(const std::string line, process_->ReadLine());
  Json answer = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return Internal("a contestant said " + line);
  return answer;
}

}  // namespace gyre
