#include "sweeps/spec/resolve.h"

#include <algorithm>

#include "sweeps/spec/point_checks.h"
#include "sweeps/spec/sources.h"
#include "trainer/data/dataset.h"
#include "trainer/data/task_text.h"
#include "trainer/data/tokenizer_request.h"
#include "trainer/position/rotation.h"

namespace gyre {
namespace {

const int kTrainSource = FieldIndexOrDie("data.train");
const int kValidation = FieldIndexOrDie("data.validation");
const int kTokenizer = FieldIndexOrDie("data.tokenizer");
const int kType = FieldIndexOrDie("position.type");
const int kP = FieldIndexOrDie("position.p");
const int kLayers = FieldIndexOrDie("position.layers");
const int kSwitch = FieldIndexOrDie("position.switch");
const int kHeadDim = FieldIndexOrDie("model.head_dim");

// The held-out part of each training text, under the name that RequestsOf gives it, written so that
// RequestsOf takes it for that.
Json DefaultValidation(const Json& train) {
  DataConfig data;
  data.train = train;
  Json validation = Json::object();
  const std::vector<WeightedSource> texts = TrainSourcesOf(train);
  for (size_t i = 0; const auto& [name, request] : RequestsOf(data).validation) {
    const Json& source = request.source;
    const bool corpus = source.is_string() && source.get<std::string>().starts_with("corpus:");
    // The length of a task's documents is not known here: as it is written.
    const bool has_task = IsTaskSource(source) || source.is_array();
    const Json& own = has_task ? texts[i].source : source;
    validation[name] = corpus ? Json(source.get<std::string>() + "/validation") : own;
    ++i;
  }
  return validation;
}

Json WithoutNulls(const Json& written) {
  Json sources = Json::object();
  for (const auto& [name, source] : written.items()) {
    if (!source.is_null()) sources[name] = source;
  }
  return sources;
}

}  // namespace

bool PointChecks::Usable(std::initializer_list<int> fields) const {
  return std::all_of(fields.begin(), fields.end(), [this](int field) {
    const Setting* setting = point_.Written(field);
    return setting == nullptr || setting->usable;
  });
}

void PointChecks::Add(std::initializer_list<int> fields, const std::string& message,
                      const std::string& help) {
  if (!Usable(fields)) return;
  const Setting* blamed = nullptr;
  for (const int field : fields) {
    const Setting* setting = point_.Written(field);
    if (setting == nullptr) continue;
    // Of two files the one that is merged over the other.
    const bool nearer = blamed == nullptr || setting->rank > blamed->rank ||
                        (setting->rank == blamed->rank && setting->place.file < blamed->place.file);
    if (nearer) blamed = setting;
  }
  std::string check;
  for (const int field : fields) check += std::to_string(field) + " ";
  // The same fields are checked for several things: the words up to the first number tell them
  // apart.
  check += message.substr(0, message.find_first_of("0123456789"));
  faults_->push_back({blamed == nullptr ? fallback_ : blamed->place, check, message, help});
}

PointResolver::PointResolver(const SpecOptions& options, const TextPlace& fallback, Notes* notes)
    : options_(options), fallback_(fallback), notes_(notes) {}

int PointResolver::ResolveTokenizer(PointChecks* checks, DataConfig* data) {
  const Setting* written = checks->point().At(kTokenizer);
  data->tokenizer = written == nullptr ? Json("bytes") : written->value;
  const auto request = TokenizerRequestFromJson(data->tokenizer);
  if (!request.ok()) {
    checks->Add({kTokenizer}, "data.tokenizer: " + request.status().message());
    return 1;
  }
  if (const auto vocabulary = VocabularyOf(*request)) return *vocabulary;
  const auto [known, is_new] = vocabularies_.try_emplace(request->path, Result<int>(0));
  if (is_new) {
    known->second = options_.model_vocabulary
                        ? options_.model_vocabulary(request->path)
                        : Result<int>(NotFound(request->path + " is not known here"));
  }
  if (known->second.ok()) return *known->second;
  checks->Add({kTokenizer}, "data.tokenizer: " + known->second.status().message());
  return 1;
}

ResolvedPoint PointResolver::Resolve(const GridPoint& point) {
  ResolvedPoint resolved;
  JobConfig& config = resolved.config;
  PointChecks checks(point, fallback_, &resolved.faults);

  const Setting* train = point.At(kTrainSource);
  if (train == nullptr) {
    checks.Add({kTrainSource}, "data.train is missing: it says what to train on",
               "for example data: {train: corpus:austen}");
  } else {
    auto& [sources, validation] = sources_[{train, point.At(kValidation)}];
    if (sources.is_null()) {
      sources = train->value;
      const Setting* written = point.At(kValidation);
      if (written != nullptr) validation = WithoutNulls(written->value);
      if (validation.empty()) validation = DefaultValidation(sources);
    }
    config.data.train = sources;
    config.data.validation = validation;
  }
  const int vocabulary = ResolveTokenizer(&checks, &config.data);
  const InitialWeights* weights = FindWeights(&checks, &config.train);
  if (weights != nullptr) {
    resolved.initial_weights = weights->hash;
    config.model = weights->model;
    config.position = weights->position;
  }
  ResolveModel(&checks, vocabulary, weights != nullptr, &config.model);
  if (weights != nullptr) CheckModelOf(&checks, config.train.init_from, *weights, config.model);
  ResolveTraining(&checks, &config);
  ResolveTasks(&checks, &task_rooms_, &config);
  const PositionConfig said_by_weights = config.position;
  ResolvePosition(&checks, config.model, &config.position, notes_);
  ResolveSwitches(&checks, said_by_weights, &config, notes_);
  ResolveInterventions(&checks, said_by_weights, &config, notes_);
  if (!resolved.faults.empty()) return resolved;

  const auto positions_of = [&](const PositionConfig& position, std::vector<LayerPosition>* of) {
    auto positions = ResolvePositions(position, config.model, config.data.context);
    if (positions.ok()) {
      *of = *std::move(positions);
    } else {
      checks.Add({kSwitch, kLayers, kP, kType, kHeadDim}, positions.status().message());
    }
  };
  positions_of(config.position, &resolved.positions);
  for (const PositionSwitch& change : config.position.switches) {
    positions_of(change.to, &resolved.switched.emplace_back());
  }
  return resolved;
}

}  // namespace gyre
