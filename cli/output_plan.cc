#include "cli/output_plan.h"

#include <algorithm>
#include <cstdio>

#include "cli/output_table.h"
#include "cli/text_width.h"
#include "results/query.h"
#include "sweeps/spec/faults.h"
#include "trainer/model/memory_estimate.h"

namespace gyre {
namespace {

using Write = std::function<void(std::string_view)>;

constexpr int kLabelWidth = 12;
constexpr double kYear = 365.25 * 86400;  // seconds

// Of the forward passes over made-up rows of one context: a bucket without room is as if it had
// one.
double TaskTokens(const JobConfig& config, int context) {
  double rows = 0;
  for (const TaskConfig& task : config.evaluate.tasks) {
    const auto& edges = task.distances;
    const auto buckets = std::lower_bound(edges.begin(), edges.end(), context) - edges.begin();
    rows +=
        static_cast<double>(task.rows) * static_cast<double>(std::max<std::ptrdiff_t>(buckets, 1));
  }
  return rows * context;
}

// Of tasks and interventions at the end of a job. What the whole validation sets take is not known
// before they are read.
double EvaluationFlops(const JobConfig& config) {
  const EvaluateConfig& evaluate = config.evaluate;
  const double own = TaskTokens(config, config.data.context);
  double tokens = own;
  for (const int context : evaluate.contexts) tokens += TaskTokens(config, context);
  if (!evaluate.interventions.empty()) {
    const auto sets = static_cast<double>(config.data.validation.size());
    tokens += (1.0 + static_cast<double>(evaluate.interventions.size())) *
              (sets * static_cast<double>(evaluate.tokens) + own);
  }
  return TrainingFlopsPerToken(config) / 3 * tokens;
}

double Flops(const JobConfig& config) {
  return TrainingFlopsPerToken(config) * static_cast<double>(config.train.tokens) +
         EvaluationFlops(config);
}

// The jobs that are work of their own.
struct Work {
  std::vector<const Job*> jobs;
  int64_t tokens = 0;
  double flops = 0, evaluation = 0;
};

Work WorkOf(const SweepSpec& sweep) {
  Work work;
  for (const Job& job : sweep.jobs) {
    if (job.twin_of) continue;
    const JobConfig& config = sweep.variants[job.variant].config;
    work.jobs.push_back(&job);
    work.tokens += config.train.tokens;
    work.flops += Flops(config);
    work.evaluation += EvaluationFlops(config);
  }
  return work;
}

// "5 a, b", or "5 between a and b" where the variants differ.
template <typename Of>
std::string RangeOf(const SweepSpec& sweep, Of of) {
  int64_t low = of(sweep.variants.front().config), high = low;
  for (const Variant& variant : sweep.variants) {
    low = std::min(low, of(variant.config));
    high = std::max(high, of(variant.config));
  }
  return low == high ? WithSeparators(low) : WithSeparators(low) + " to " + WithSeparators(high);
}

std::string Brief(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g", value);
  return text;
}

std::string Duration(double seconds) {
  char text[48];
  if (seconds < 1.5) return "a second";
  if (seconds < 90) {
    std::snprintf(text, sizeof(text), "%.0f seconds", seconds);
  } else if (seconds < 5400) {
    std::snprintf(text, sizeof(text), "%.0f minutes", seconds / 60);
  } else if (seconds < 172800) {
    std::snprintf(text, sizeof(text), "%.1f hours", seconds / 3600);
  } else if (seconds < 2 * kYear) {
    std::snprintf(text, sizeof(text), "%.0f days", seconds / 86400);
  } else {
    return WithSeparators(static_cast<uint64_t>(seconds / kYear)) + " years";
  }
  return text;
}

template <typename T, typename Text>
std::string FirstOf(const std::vector<T>& all, Text text) {
  constexpr size_t kShown = 12;
  std::string list;
  for (size_t i = 0; i < std::min(all.size(), kShown); ++i)
    list += (i == 0 ? "" : ", ") + text(all[i]);
  if (all.size() > kShown) list += " and " + WithSeparators(all.size() - kShown) + " more";
  return list;
}

MemoryEstimate MemoryOf(const SweepSpec& sweep, const Variant& variant) {
  return EstimateMemory(variant.config, sweep.resources.cpus);
}

/// Of the variant that needs most.
MemoryEstimate MemoryOf(const SweepSpec& sweep) {
  MemoryEstimate most;
  for (const Variant& variant : sweep.variants) {
    const MemoryEstimate one = MemoryOf(sweep, variant);
    if (one.total() > most.total()) most = one;
  }
  return most;
}

Json MemoryJson(const MemoryEstimate& memory) {
  return {{"bytes", memory.total()},           {"weights", memory.weights},
          {"gradients", memory.gradients},     {"optimizer", memory.optimizer},
          {"activations", memory.activations}, {"evaluation", memory.evaluation},
          {"program", memory.program}};
}

void WriteLine(const std::string& label, const std::string& text, int width, const Write& write) {
  const int room = width == 0 ? 0 : std::max(width - kLabelWidth - 2, 20);
  std::string wrapped = Wrap(Visible(text), room, 0);
  const std::string indent(kLabelWidth + 2, ' ');
  for (size_t end = wrapped.find('\n'); end != std::string::npos;
       end = wrapped.find('\n', end + 1)) {
    wrapped.insert(end + 1, indent);
  }
  write("  " + PadRight(label, kLabelWidth) + wrapped + "\n");
}

std::string StopEarlyWords(const StopEarlyRule& rule) {
  const std::string after =
      " by " + rule.metric + ", not before " + WithSeparators(rule.grace) + " tokens";
  if (rule.rule == "median") return "jobs that are worse than the median of their seed" + after;
  return "all but the best 1 in " + std::to_string(rule.reduction) +
         " of a seed, again at each place " + std::to_string(rule.reduction) +
         " times as far (asha)" + after;
}

// The longest list of tasks and of interventions that a variant has.
void WriteAtTheEnd(const SweepSpec& sweep,
                   const std::function<void(const std::string&, const std::string&)>& line) {
  const auto name = [](const auto& one) { return one.name; };
  const EvaluateConfig* most = &sweep.variants.front().config.evaluate;
  for (const Variant& variant : sweep.variants) {
    if (variant.config.evaluate.tasks.size() > most->tasks.size()) most = &variant.config.evaluate;
  }
  if (!most->tasks.empty()) line("tasks", FirstOf(most->tasks, name));
  for (const Variant& variant : sweep.variants) {
    const EvaluateConfig& own = variant.config.evaluate;
    if (own.interventions.size() > most->interventions.size()) most = &own;
  }
  if (most->interventions.empty()) return;
  line("change", WithSeparators(most->interventions.size()) +
                     " interventions a job: " + FirstOf(most->interventions, name));
}

void WriteSummary(const SweepSpec& sweep, int width, const Write& write) {
  const Work work = WorkOf(sweep);
  const size_t twins = sweep.jobs.size() - work.jobs.size();
  const auto line = [&](const std::string& label, const std::string& text) {
    WriteLine(label, text, width, write);
  };
  write(Visible(sweep.name) + "\n");
  if (!sweep.description.empty()) line("description", sweep.description);
  if (!sweep.question.empty()) line("question", sweep.question);
  line("variants", WithSeparators(sweep.variants.size()) + ": " +
                       FirstOf(sweep.variants, [](const Variant& v) { return v.name; }));
  if (!sweep.baseline.empty()) line("baseline", sweep.baseline);
  line("seeds", WithSeparators(sweep.seeds.size()) + ": " +
                    FirstOf(sweep.seeds, [](uint64_t seed) { return std::to_string(seed); }));
  line("jobs",
       WithSeparators(work.jobs.size()) +
           (twins == 0 ? ""
                       : ", and " + WithSeparators(twins) + " that are the same as one of them"));
  line("parameters", RangeOf(sweep, [](const JobConfig& c) { return ParameterCount(c.model); }));
  line("tokens", RangeOf(sweep, [](const JobConfig& c) { return c.train.tokens; }) + " a job, " +
                     WithSeparators(work.tokens) + " in all");
  WriteAtTheEnd(sweep, line);
  line("compute",
       "about " + Brief(work.flops) +
           " FLOPs: 6 N + 12 L C T a token, with N the weights of matrix products" +
           (work.evaluation == 0
                ? ""
                : "; " + Brief(work.evaluation) + " of them for tasks and interventions") +
           (work.tokens == 0 ? "; to read each whole validation set once comes on top" : ""));
  const MemoryEstimate memory = MemoryOf(sweep);
  line("memory", "about " + DescribeBytes(memory.total()) + " a job" +
                     (sweep.variants.size() > 1 ? ", of the largest: " : ": ") +
                     DescribeParts(memory));
  line("time", "about " + Duration(work.flops / kAssumedFlopsPerCore) +
                   " of one core, if it does " + Brief(kAssumedFlopsPerCore / 1e9) +
                   " GFLOP/s (an assumption; nothing was measured)");
  if (sweep.stop_early) line("stop early", StopEarlyWords(*sweep.stop_early));
  for (const std::string& note : sweep.notes) line("note", note);
}

QueryTable SweepRows(const std::vector<SweepSpec>& sweeps) {
  QueryTable table;
  table.columns = {"sweep", "question",       "baseline",       "variants", "seeds",
                   "jobs",  "parameters_min", "parameters_max", "tokens",   "flops"};
  for (const SweepSpec& sweep : sweeps) {
    const Work work = WorkOf(sweep);
    int64_t low = ParameterCount(sweep.variants.front().config.model), high = low;
    for (const Variant& variant : sweep.variants) {
      low = std::min(low, ParameterCount(variant.config.model));
      high = std::max(high, ParameterCount(variant.config.model));
    }
    table.rows.push_back(
        {sweep.name, sweep.question, sweep.baseline, static_cast<int64_t>(sweep.variants.size()),
         static_cast<int64_t>(sweep.seeds.size()), static_cast<int64_t>(work.jobs.size()), low,
         high, work.tokens, work.flops});
  }
  return table;
}

QueryTable JobRows(const std::vector<SweepSpec>& sweeps) {
  QueryTable table;
  table.columns = {"sweep", "variant", "seed", "key", "parameters", "tokens", "steps", "flops"};
  for (const SweepSpec& sweep : sweeps) {
    for (const Job* job : WorkOf(sweep).jobs) {
      const JobConfig& config = sweep.variants[job->variant].config;
      table.rows.push_back(
          {sweep.name, sweep.variants[job->variant].name, static_cast<int64_t>(job->seed),
           job->key.empty() ? QueryValue() : QueryValue(job->key), ParameterCount(config.model),
           config.train.tokens, TotalSteps(config.train), Flops(config)});
    }
  }
  return table;
}

Json FrequenciesOf(const Variant& variant) {
  Json layers = Json::array();
  for (const LayerPosition& layer : variant.positions) layers.push_back(layer.rotation.frequencies);
  return layers;
}

void WriteJson(const SweepSpec& sweep, const Write& write) {
  const Work work = WorkOf(sweep);
  write("{\"sweep\": " + Json(sweep.name).dump() + ", \"description\": " +
        Json(sweep.description).dump() + ", \"question\": " + Json(sweep.question).dump() +
        ", \"baseline\": " + (sweep.baseline.empty() ? Json() : Json(sweep.baseline)).dump() +
        ",\n \"jobs\": [");
  for (size_t i = 0; i < work.jobs.size(); ++i) {
    const Job& job = *work.jobs[i];
    const Variant& variant = sweep.variants[job.variant];
    const Json json{{"variant", variant.name},
                    {"seed", job.seed},
                    {"key", job.key.empty() ? Json() : Json(job.key)},
                    {"parameters", ParameterCount(variant.config.model)},
                    {"memory", MemoryJson(MemoryOf(sweep, variant))},
                    {"config", ToJson(variant.config)},
                    {"frequencies", FrequenciesOf(variant)}};
    write((i == 0 ? "\n  " : ",\n  ") + json.dump());
  }
  if (sweep.stop_early) {
    const StopEarlyRule& rule = *sweep.stop_early;
    const Json json{{"rule", rule.rule},
                    {"metric", rule.metric},
                    {"grace", rule.grace},
                    {"reduction", rule.reduction}};
    write("],\n \"stop_early\": " + json.dump() + ", \"notes\": " + Json(sweep.notes).dump());
  } else {
    write("],\n \"notes\": " + Json(sweep.notes).dump());
  }
  write(", \"tokens\": " + std::to_string(work.tokens) + ", \"flops\": " + Json(work.flops).dump() +
        "}");
}

}  // namespace

double TrainingFlopsPerToken(const JobConfig& config) {
  const ModelConfig& model = config.model;
  const double width = static_cast<double>(model.num_attention_heads) * model.head_dim;
  const double keys = static_cast<double>(model.num_key_value_heads) * model.head_dim;
  const double mlp = (model.gated() ? 3.0 : 2.0) * model.intermediate_size;
  const double layer = model.hidden_size * (2 * width + 2 * keys + mlp);
  const double head = static_cast<double>(model.hidden_size) * model.vocab_size;
  const double weights = model.num_hidden_layers * layer + head;
  return 6 * weights + 12.0 * model.num_hidden_layers * width * config.data.context;
}

void WritePlan(const std::vector<SweepSpec>& sweeps, OutputFormat format, bool jobs, int width,
               const Write& write) {
  if (format == OutputFormat::kJson) {
    write("{\"sweeps\": [");
    for (size_t i = 0; i < sweeps.size(); ++i) {
      if (i > 0) write(",\n");
      WriteJson(sweeps[i], write);
    }
    write("]}\n");
    return;
  }
  if (format != OutputFormat::kTable) {
    return write(RenderQueryTable(jobs ? JobRows(sweeps) : SweepRows(sweeps), format, width));
  }
  for (size_t i = 0; i < sweeps.size(); ++i) {
    if (i > 0) write("\n");
    WriteSummary(sweeps[i], width, write);
  }
  if (jobs) write("\n" + RenderQueryTable(JobRows(sweeps), format, width));
}

}  // namespace gyre
