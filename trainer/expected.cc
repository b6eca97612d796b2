#include "trainer/expected.h"

#include <algorithm>

#include "base/files.h"
#include "trainer/pretrained/json_reader.h"

namespace gyre {
namespace {

using Json = JsonReader::Json;

template <typename T>
void Take(JsonReader* in, const std::string& key, std::optional<T>* value) {
  T found{};
  if (in->Optional(key, &found)) *value = std::move(found);
}

// A rectangle of whole numbers, row after row.
bool TakeRectangle(JsonReader* in, const std::string& key, int* rows, int* length,
                   std::vector<int32_t>* flat) {
  std::vector<std::vector<int>> found;
  if (!in->Optional(key, &found)) return false;
  for (const std::vector<int>& row : found) {
    if (row.empty() || row.size() != found.front().size()) {
      in->Fail(key, "must have rows of one length");
      return false;
    }
    flat->insert(flat->end(), row.begin(), row.end());
  }
  if (found.empty()) {
    in->Fail(key, "has no rows");
    return false;
  }
  *rows = static_cast<int>(found.size());
  *length = static_cast<int>(found.front().size());
  return true;
}

void ReadBatch(const Json& json, Status* status, Expected* expected) {
  JsonReader in(json, "batch", status);
  Batch batch;
  if (!TakeRectangle(&in, "input_ids", &batch.rows, &batch.length, &batch.tokens)) return;
  int rows = 0, length = 0;
  if (TakeRectangle(&in, "targets", &rows, &length, &batch.targets) &&
      (rows != batch.rows || length != batch.length)) {
    in.Fail("targets", "must have the shape of input_ids");
  }
  expected->batch = std::move(batch);
}

void ReadPosition(const Json& json, Status* status, Expected* expected) {
  JsonReader in(json, "position", status);
  ExpectedPosition position;
  Take(&in, "inv_freq", &position.inv_freq);
  Take(&in, "attention_factor", &position.attention_factor);
  Take(&in, "alibi_slopes", &position.alibi_slopes);
  std::vector<std::vector<int>> pairs;
  if (in.Optional("pairs", &pairs)) {
    position.pairs.emplace();
    for (const std::vector<int>& pair : pairs) {
      if (pair.size() != 2) return in.Fail("pairs", "must be pairs of coordinates");
      position.pairs->emplace_back(pair[0], pair[1]);
    }
  }
  expected->position = std::move(position);
}

void ReadLogits(const Json& json, Status* status, Expected* expected) {
  expected->logits.emplace();
  for (size_t i = 0; i < json.size(); ++i) {
    JsonReader in(json[i], "logits[" + std::to_string(i) + "]", status);
    ExpectedLogits logits;
    in.Required("b", &logits.row);
    in.Required("t", &logits.place);
    in.Required("values", &logits.values);
    expected->logits->push_back(std::move(logits));
  }
}

void ReadTensors(JsonReader* in, Status* status, std::map<std::string, ExpectedTensor>* tensors) {
  const Json* params = in->Object("params");
  if (params == nullptr) return;
  for (const auto& [name, json] : params->items()) {
    JsonReader tensor(json, in->PathOf("params." + name), status);
    ExpectedTensor& expected = (*tensors)[name];
    Take(&tensor, "norm", &expected.norm);
    Take(&tensor, "sum", &expected.sum);
    tensor.Optional("index", &expected.index);
    tensor.Optional("value", &expected.value);
    if (expected.index.size() != expected.value.size()) {
      tensor.Fail("value", "must have as many entries as index");
    }
  }
}

void ReadGradient(const Json& json, Status* status, Expected* expected) {
  JsonReader in(json, "gradient", status);
  ExpectedGradient& gradient = expected->gradient.emplace();
  Take(&in, "total_norm", &gradient.total_norm);
  ReadTensors(&in, status, &gradient.params);
}

void ReadAccumulation(const Json& json, Status* status, Expected* expected) {
  JsonReader in(json, "accumulation", status);
  ExpectedAccumulation& accumulation = expected->accumulation.emplace();
  in.Required("micro_batches", &accumulation.micro_batches);
  Take(&in, "target_counts", &accumulation.target_counts);
  Take(&in, "nll_sums", &accumulation.nll_sums);
  Take(&in, "loss", &accumulation.loss);
  Take(&in, "gradient_total_norm", &accumulation.gradient_total_norm);
  Take(&in, "wrong_loss", &accumulation.wrong_loss);
  Take(&in, "wrong_gradient_total_norm", &accumulation.wrong_gradient_total_norm);
  const size_t count = accumulation.micro_batches.size();
  if (accumulation.target_counts && accumulation.target_counts->size() != count) {
    in.Fail("target_counts", "must have one entry a micro-batch");
  }
  if (accumulation.nll_sums && accumulation.nll_sums->size() != count) {
    in.Fail("nll_sums", "must have one entry a micro-batch");
  }
}

void ReadAdamW(const Json& json, Status* status, Expected* expected) {
  JsonReader in(json, "adamw", status);
  ExpectedAdamW& adamw = expected->adamw.emplace();
  in.Required("lr", &adamw.lr);
  in.Required("beta1", &adamw.beta1);
  in.Required("beta2", &adamw.beta2);
  in.Required("eps", &adamw.eps);
  in.Required("weight_decay", &adamw.weight_decay);
  in.Required("clip", &adamw.clip);
  in.Required("steps", &adamw.steps);
  if (adamw.steps < 1 || adamw.steps > 1000) in.Fail("steps", "must be between 1 and 1000");
  Take(&in, "loss", &adamw.loss);
  Take(&in, "grad_norm", &adamw.grad_norm);
  const size_t steps = static_cast<size_t>(std::max(adamw.steps, 0));
  if (adamw.loss && adamw.loss->size() != steps + 1) in.Fail("loss", "must have steps + 1 entries");
  if (adamw.grad_norm && adamw.grad_norm->size() != steps) {
    in.Fail("grad_norm", "must have one entry a step");
  }
  ReadTensors(&in, status, &adamw.params);
}

// A list of objects' worth of rows: JsonReader has none as deep.
void ReadCube(const Json& json, const std::string& path, Status* status,
              std::vector<ExpectedStatistics::Rows>* cube) {
  if (!json.is_array()) {
    if (status->ok()) *status = InvalidArgument(path + " must be a list of lists of lists");
    return;
  }
  for (size_t layer = 0; layer < json.size(); ++layer) {
    const std::string key = "[" + std::to_string(layer) + "]";
    const Json wrapped = {{key, json[layer]}};
    JsonReader(wrapped, path, status).Required(key, &cube->emplace_back());
  }
}

void ReadFrequency(const Json& json, Status* status, Expected* expected) {
  for (const char* key : {"q", "k", "v", "q_without_first", "k_without_first", "v_without_first"}) {
    if (!json.contains(key)) continue;
    ReadCube(json[key], "frequency." + std::string(key), status,
             &expected->statistics.frequency[key]);
  }
}

void ReadContribution(const Json& json, Status* status, Expected* expected) {
  JsonReader in(json, "contribution", status);
  in.Required("layer", &expected->statistics.contribution_layer);
  for (const char* key : {"mean_abs", "share"}) {
    ExpectedStatistics::Rows rows;
    if (in.Optional(key, &rows)) expected->statistics.contribution[key] = std::move(rows);
  }
}

void ReadHeads(const Json& json, Status* status, Expected* expected) {
  JsonReader in(json, "heads", status);
  for (const char* key : {"diag", "prev", "first", "entropy", "distance"}) {
    ExpectedStatistics::Rows rows;
    if (in.Optional(key, &rows)) expected->statistics.heads[key] = std::move(rows);
  }
}

// Some writers put null where a number was not finite: that is no absence.
bool HasNull(const Json& json) {
  return json.is_null() || (json.is_structured() && std::any_of(json.begin(), json.end(), HasNull));
}

}  // namespace

Result<Expected> ReadExpected(const std::filesystem::path& file) {
  GYRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, size_t{1} << 30));
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return InvalidArgument(file.string() + " is not JSON (which has no NaN and no infinity)");
  }
  if (HasNull(json)) return InvalidArgument(file.string() + " has a null where a value is meant");
  Status status;
  Expected expected;
  JsonReader in(json, "", &status);
  const auto read = [&](const char* key, void (*parse)(const Json&, Status*, Expected*)) {
    if (const Json* part = in.Object(key); part != nullptr) parse(*part, &status, &expected);
  };
  read("batch", ReadBatch);
  read("position", ReadPosition);
  read("gradient", ReadGradient);
  read("accumulation", ReadAccumulation);
  read("adamw", ReadAdamW);
  read("frequency", ReadFrequency);
  read("contribution", ReadContribution);
  read("heads", ReadHeads);
  Take(&in, "loss", &expected.loss);
  Take(&in, "target_count", &expected.target_count);
  Take(&in, "nll", &expected.nll);
  Take(&in, "residual_norm", &expected.residual_norm);
  if (const Json* logits = in.Array("logits"); logits != nullptr) {
    ReadLogits(*logits, &status, &expected);
  }
  if (!status.ok()) return status.WithContext(file.string());
  for (const auto& [key, value] : json.items()) {
    const auto is_one_of = [&key](std::initializer_list<const char*> keys) {
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    if (!is_one_of({"case", "note", "batch", "position", "gradient", "accumulation", "adamw",
                    "loss", "target_count", "nll", "residual_norm", "logits", "frequency",
                    "contribution", "heads"})) {
      expected.unknown.push_back(key);
    }
  }
  return expected;
}

}  // namespace gyre
