#include <algorithm>
#include <cmath>

#include "trainer/verification.h"

namespace gyre {
namespace {

// Below this share of the total, a parameter's gradient is a sum that cancels (T = 1 leaves none
// for queries and keys): what float32 leaves of it is held against the total instead of against
// itself.
constexpr double kNegligible = 1e-3;
// And below this share it is none: AdamW, which looks at the direction alone, would blow up what
// rounding left.
constexpr double kNone = 1e-7;

struct TensorNumbers {
  double squares = 0, sum = 0;
};

Result<std::vector<float>> Values(const Model& model, TensorKind kind, const Tensor& tensor) {
  std::vector<float> values(static_cast<size_t>(ValueCount(tensor.shape)));
  GYRE_RETURN_IF_ERROR(model.Save(kind, tensor.name, values));
  return values;
}

TensorNumbers Sums(const std::vector<float>& values, double divisor) {
  TensorNumbers numbers;
  for (const float value : values) {
    const double x = value / divisor;
    numbers.squares += x * x;
    numbers.sum += x;
  }
  return numbers;
}

Status CheckPlaces(const ExpectedTensor& expected, const std::string& name, size_t count) {
  for (const int64_t index : expected.index) {
    if (index < 0 || static_cast<size_t>(index) >= count) {
      return InvalidArgument("expected.json: " + name + " has no entry " + std::to_string(index));
    }
  }
  return OkStatus();
}

Status CheckNames(const Model& model, const std::map<std::string, ExpectedTensor>& expected) {
  for (const auto& [name, tensor] : expected) {
    bool found = false;
    for (const Tensor& parameter : model.parameters()) found = found || parameter.name == name;
    if (!found) return InvalidArgument("expected.json: the model has no parameter '" + name + "'");
  }
  return OkStatus();
}

std::string Entry(const std::string& name, int64_t index) {
  return name + "[" + std::to_string(index) + "]";
}

// What is allowed at a step, as a share of what is in the end: deviations of all steps are held
// against the last.
double ShareOfLast(const std::vector<double>& allowed, int step) {
  const size_t last = allowed.size() - 1;
  return allowed[std::min(static_cast<size_t>(step), last)] / allowed[last];
}

}  // namespace

int64_t TargetCount(const Batch& batch) {
  int64_t count = 0;
  for (const int32_t target : batch.targets) count += target >= 0;
  return count;
}

Result<Batch> SelectRows(const Batch& batch, const std::vector<int>& rows) {
  Batch selected{static_cast<int>(rows.size()), batch.length, {}, {}, {}};
  for (const int row : rows) {
    if (row < 0 || row >= batch.rows) {
      return InvalidArgument("expected.json: accumulation names row " + std::to_string(row) +
                             ", which the batch does not have");
    }
    const auto begin = int64_t{row} * batch.length, end = begin + batch.length;
    selected.tokens.insert(selected.tokens.end(), batch.tokens.begin() + begin,
                           batch.tokens.begin() + end);
    selected.targets.insert(selected.targets.end(), batch.targets.begin() + begin,
                            batch.targets.begin() + end);
  }
  return selected;
}

Result<double> Verification::CompareGradients(const Model& model, double targets,
                                              const std::string& prefix) {
  const ExpectedGradient expected = expected_.gradient.value_or(ExpectedGradient());
  GYRE_RETURN_IF_ERROR(CheckNames(model, expected.params));
  std::vector<std::vector<float>> gradients;
  double squares = 0;
  for (const Tensor& tensor : model.parameters()) {
    GYRE_ASSIGN_OR_RETURN(gradients.emplace_back(), Values(model, TensorKind::kGradient, tensor));
    squares += Sums(gradients.back(), targets).squares;
  }
  const double total_norm = std::sqrt(squares);
  Deviation norm(prefix + "norm", allowed_.norm), entries(prefix + "entries", allowed_.entries);
  Deviation sum(prefix + "sum", allowed_.sum);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const std::string& name = model.parameters()[i].name;
    const auto found = expected.params.find(name);
    if (found == expected.params.end()) {
      if (!expected.params.empty()) Skip(prefix + name, "not in expected.json");
      continue;
    }
    const ExpectedTensor& want = found->second;
    GYRE_RETURN_IF_ERROR(CheckPlaces(want, name, gradients[i].size()));
    const TensorNumbers got = Sums(gradients[i], targets);
    const double scale =
        std::max(want.norm.value_or(std::sqrt(got.squares)), kNegligible * total_norm);
    if (want.norm) norm.Compare(std::sqrt(got.squares), *want.norm, scale, name);
    if (want.sum) sum.Compare(got.sum, *want.sum, scale, name);
    for (size_t j = 0; j < want.index.size(); ++j) {
      const double value = gradients[i][static_cast<size_t>(want.index[j])] / targets;
      const double largest = std::max(std::abs(want.value[0]), 1e-3 * kNegligible * total_norm);
      entries.Compare(value, want.value[j], largest, Entry(name, want.index[j]));
    }
  }
  Add(norm);
  Add(entries);
  Add(sum);
  return total_norm;
}

Status Verification::CheckGradient() {
  if (!expected_.gradient || !has_targets()) {
    Skip("gradient", expected_.gradient ? "needs batch.targets" : "not in expected.json");
    return OkStatus();
  }
  const double targets = static_cast<double>(TargetCount(*expected_.batch));
  if (targets == 0) {
    Skip("gradient", "the batch has no target");
    return OkStatus();
  }
  GYRE_ASSIGN_OR_RETURN(const auto model, CreateModel(/*training=*/true));
  GYRE_ASSIGN_OR_RETURN(const double sum, model->ForwardBackward(*expected_.batch));
  Deviation loss("gradient.loss", allowed_.loss);
  Deviation total("gradient.total_norm", allowed_.total_norm);
  if (expected_.loss) loss.Compare(sum / targets, *expected_.loss, 1, "");
  GYRE_ASSIGN_OR_RETURN(const double norm, CompareGradients(*model, targets, "gradient."));
  if (expected_.gradient->total_norm) {
    const double want = *expected_.gradient->total_norm;
    total.Compare(norm, want, want, "");
  }
  Add(loss);
  Add(total);
  return OkStatus();
}

Status Verification::CheckAccumulation() {
  if (!expected_.accumulation || !has_targets()) {
    Skip("accumulation", expected_.accumulation ? "needs batch.targets" : "not in expected.json");
    return OkStatus();
  }
  const ExpectedAccumulation& expected = *expected_.accumulation;
  std::vector<Batch> parts;
  int64_t targets = 0;
  for (const std::vector<int>& rows : expected.micro_batches) {
    GYRE_ASSIGN_OR_RETURN(parts.emplace_back(), SelectRows(*expected_.batch, rows));
    if (TargetCount(parts.back()) == 0) {
      return InvalidArgument("expected.json: accumulation has a micro-batch without a target");
    }
    targets += TargetCount(parts.back());
  }
  if (targets != TargetCount(*expected_.batch)) {
    return InvalidArgument("expected.json: accumulation's micro-batches are not the batch");
  }
  GYRE_RETURN_IF_ERROR(CheckSums(parts, static_cast<double>(targets)));
  return CheckMeanOfMeans(parts);
}

// Sums of micro-batches, divided once: what training does.
Status Verification::CheckSums(const std::vector<Batch>& parts, double targets) {
  const ExpectedAccumulation& expected = *expected_.accumulation;
  Deviation counts("accumulation.target_counts", 0), sums("accumulation.nll_sums", allowed_.loss);
  Deviation loss("accumulation.loss", allowed_.loss);
  Deviation norm("accumulation.gradient_total_norm", allowed_.total_norm);
  GYRE_ASSIGN_OR_RETURN(const auto model, CreateModel(/*training=*/true));
  double nats = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    GYRE_ASSIGN_OR_RETURN(const double sum, model->ForwardBackward(parts[i]));
    nats += sum;
    const double count = static_cast<double>(TargetCount(parts[i]));
    const std::string where = "micro-batch " + std::to_string(i);
    if (expected.target_counts) {
      counts.Compare(count, static_cast<double>((*expected.target_counts)[i]), 1, where);
    }
    // A sum of many values: allowed is what the loss is allowed for each.
    if (expected.nll_sums) sums.Compare(sum, (*expected.nll_sums)[i], count, where);
  }
  if (expected.loss) loss.Compare(nats / targets, *expected.loss, 1, "");
  GYRE_ASSIGN_OR_RETURN(const double total_norm,
                        CompareGradients(*model, targets, "accumulation.gradient."));
  if (expected.gradient_total_norm) {
    norm.Compare(total_norm, *expected.gradient_total_norm, *expected.gradient_total_norm, "");
  }
  for (const Deviation* deviation : {&counts, &sums, &loss, &norm}) Add(*deviation);
  return OkStatus();
}

// The recorded mistake: means of micro-batches, averaged as if they had as many targets.
Status Verification::CheckMeanOfMeans(const std::vector<Batch>& parts) {
  const ExpectedAccumulation& expected = *expected_.accumulation;
  Deviation loss("accumulation.wrong_loss", allowed_.loss);
  Deviation norm("accumulation.wrong_gradient_total_norm", allowed_.total_norm);
  GYRE_ASSIGN_OR_RETURN(const auto model, CreateModel(/*training=*/true));
  double mean_loss = 0;
  std::vector<double> mean_gradient;
  for (const Batch& part : parts) {
    const double divisor =
        static_cast<double>(TargetCount(part)) * static_cast<double>(parts.size());
    GYRE_RETURN_IF_ERROR(model->ZeroGradients());
    GYRE_ASSIGN_OR_RETURN(const double sum, model->ForwardBackward(part));
    mean_loss += sum / divisor;
    size_t at = 0;
    for (const Tensor& tensor : model->parameters()) {
      GYRE_ASSIGN_OR_RETURN(const auto values, Values(*model, TensorKind::kGradient, tensor));
      mean_gradient.resize(std::max(mean_gradient.size(), at + values.size()), 0.0);
      for (const float value : values) mean_gradient[at++] += value / divisor;
    }
  }
  double squares = 0;
  for (const double value : mean_gradient) squares += value * value;
  if (expected.wrong_loss) loss.Compare(mean_loss, *expected.wrong_loss, 1, "");
  if (expected.wrong_gradient_total_norm) {
    norm.Compare(std::sqrt(squares), *expected.wrong_gradient_total_norm,
                 *expected.wrong_gradient_total_norm, "");
  }
  Add(loss);
  Add(norm);
  return OkStatus();
}

Status Verification::CheckAdamW() {
  if (!expected_.adamw || !has_targets()) {
    Skip("adamw", expected_.adamw ? "needs batch.targets" : "not in expected.json");
    return OkStatus();
  }
  const ExpectedAdamW& expected = *expected_.adamw;
  const Batch& batch = *expected_.batch;
  const int64_t targets = TargetCount(batch);
  if (targets == 0) return InvalidArgument("expected.json: adamw, and the batch has no target");
  GYRE_ASSIGN_OR_RETURN(const auto model, CreateModel(/*training=*/true));
  GYRE_RETURN_IF_ERROR(CheckNames(*model, expected.params));
  OptimizerConfig optimizer{.lr = expected.lr,
                            .beta1 = expected.beta1,
                            .beta2 = expected.beta2,
                            .eps = expected.eps,
                            .weight_decay = expected.weight_decay,
                            .clip_norm = expected.clip};
  Deviation first("adamw.loss, first", allowed_.adamw_loss.front());
  Deviation loss("adamw.loss, later", allowed_.adamw_loss.back());
  Deviation grad_norm("adamw.grad_norm", allowed_.adamw_gradient_norm.back());
  for (int step = 0; step <= expected.steps; ++step) {
    GYRE_RETURN_IF_ERROR(model->ZeroGradients());
    GYRE_ASSIGN_OR_RETURN(const double sum, model->ForwardBackward(batch));
    if (expected.loss) {
      (step == 0 ? first : loss)
          .Compare(sum / static_cast<double>(targets), (*expected.loss)[static_cast<size_t>(step)],
                   step == 0 ? 1 : ShareOfLast(allowed_.adamw_loss, step), Entry("loss", step));
    }
    if (step == expected.steps) break;
    GYRE_ASSIGN_OR_RETURN(const double norm,
                          model->OptimizerStep(optimizer, expected.lr, step + 1, targets));
    if (expected.grad_norm) {
      const double want = (*expected.grad_norm)[static_cast<size_t>(step)];
      grad_norm.Compare(norm, want, want * ShareOfLast(allowed_.adamw_gradient_norm, step),
                        Entry("grad_norm", step));
    }
  }
  for (const Deviation* deviation : {&first, &loss, &grad_norm}) Add(*deviation);
  return CompareWeights(*model);
}

Status Verification::CompareWeights(const Model& model) {
  const auto& expected = expected_.adamw->params;
  Deviation norms("adamw.norm", allowed_.adamw_norm);
  Deviation entries("adamw.entries", allowed_.adamw_entries);
  for (const Tensor& tensor : model.parameters()) {
    const auto found = expected.find(tensor.name);
    if (found == expected.end()) {
      if (!expected.empty()) Skip("adamw." + tensor.name, "not in expected.json");
      continue;
    }
    if (HasNoGradient(tensor.name)) {
      Skip("adamw." + tensor.name, "its gradient is zero but for rounding");
      continue;
    }
    const ExpectedTensor& want = found->second;
    GYRE_ASSIGN_OR_RETURN(const auto values, Values(model, TensorKind::kWeight, tensor));
    GYRE_RETURN_IF_ERROR(CheckPlaces(want, tensor.name, values.size()));
    if (want.norm) {
      norms.Compare(std::sqrt(Sums(values, 1).squares), *want.norm, *want.norm, tensor.name);
    }
    for (size_t j = 0; j < want.index.size(); ++j) {
      entries.Compare(values[static_cast<size_t>(want.index[j])], want.value[j], 1,
                      Entry(tensor.name, want.index[j]));
    }
  }
  Add(norms);
  Add(entries);
  return OkStatus();
}

bool Verification::HasNoGradient(const std::string& name) const {
  if (!expected_.gradient || !expected_.gradient->total_norm) return false;
  const auto found = expected_.gradient->params.find(name);
  return found != expected_.gradient->params.end() && found->second.norm &&
         *found->second.norm < kNone * *expected_.gradient->total_norm;
}

}  // namespace gyre
