// One head, token by token: norms of its pairs for the first tokens of a window, beside its
// attention map.

#include <algorithm>
#include <numbers>

#include "results/plots/heat_map.h"
#include "results/plots/kinds.h"
#include "results/plots/line_plot.h"
#include "results/plots/pair_axis.h"
#include "results/plots/plotted_points.h"
#include "results/plots/statistics_rows.h"

namespace gyre {
namespace {

constexpr char kCollect[] = "token_norms";

/// What is drawn: one job, one head.
struct TokenHead {
  const PlottedVariant* variant = nullptr;
  const PlottedJob* job = nullptr;
  int layer = 0, head = 0, key_head = 0;
};

/// [row][column], rows that are too short filled up; empty if it is no matrix.
std::vector<std::vector<double>> Matrix(const nlohmann::json& rows) {
  std::vector<std::vector<double>> matrix;
  for (const auto& row : rows) {
    if (!row.is_array()) return {};
    matrix.push_back(Numbers(row));
    if (matrix.back().size() != matrix.front().size()) return {};
  }
  return matrix;
}

std::vector<std::vector<double>> Transposed(const std::vector<std::vector<double>>& matrix) {
  std::vector<std::vector<double>> other(matrix.empty() ? 0 : matrix.front().size());
  for (const auto& row : matrix) {
    for (size_t i = 0; i < row.size(); ++i) other[i].push_back(row[i]);
  }
  return other;
}

std::vector<std::string> Counted(size_t count) {
  std::vector<std::string> labels;
  for (size_t i = 0; i < count; ++i) labels.push_back(std::to_string(i));
  return labels;
}

class TokenPlotMaker {
 public:
  TokenPlotMaker(const PlotOptions& options, const PlottedSweep& sweep, const AskSql& ask)
      : options_(options), sweep_(sweep), ask_(ask) {}

  Result<Plot> Make() {
    GYRE_RETURN_IF_ERROR(ChooseHead());
    const JobStatistics& map = maps_.at(head_.job->source);
    GYRE_ASSIGN_OR_RETURN(frequencies_, ReadFrequencies(head_.job->source, map.tokens, ask_));
    plot_.rows.columns = {"sweep", "variant", "seed",  "step",        "layer",
                          "head",  "what",    "token", "pair_or_key", "value"};
    step_ = map.step;
    std::vector<std::string> tensors = {"q", "k"};
    if (options_.tensor) tensors = {*options_.tensor};
    for (const std::string& tensor : tensors) GYRE_RETURN_IF_ERROR(AddNorms(tensor));
    AddMap(Matrix(map.values.at({head_.layer, head_.head})));
    Words(map);
    map_.columns = 2;
    DrawHeatMap(map_, &plot_);
    return std::move(plot_);
  }

 private:
  /// The first variant and seed that have what is asked for.
  Status ChooseHead() {
    head_.layer = options_.layer.value_or(0);
    head_.head = options_.head.value_or(0);
    const StatisticsTable table{"attention_maps", "weights", ""};
    GYRE_ASSIGN_OR_RETURN(const auto present,
                          JobsWithStatistics(table, options_, SourceJobs(sweep_), ask_));
    for (const PlottedVariant& variant : sweep_.variants) {
      for (const PlottedJob& job : variant.jobs) {
        if (head_.job != nullptr || !present.contains(job.source)) continue;
        head_.variant = &variant;
        head_.job = &job;
      }
    }
    if (head_.job == nullptr) return NoStatistics(table, options_, sweep_, kCollect, ask_);
    GYRE_ASSIGN_OR_RETURN(maps_, ReadStatistics(table, options_, {head_.job->source}, ask_));
    const auto& heads = maps_.at(head_.job->source).values;
    int count = 0;
    for (const auto& [place, map] : heads) count = std::max(count, place.second + 1);
    if (!heads.contains({head_.layer, head_.head})) {
      return sweep_.pretrained
                 ? NotFound("there is no attention map of head " + std::to_string(head_.layer) +
                            ":" + std::to_string(head_.head) + "; analyse it again with --head " +
                            std::to_string(head_.layer) + ":" + std::to_string(head_.head))
                 : NotFound("there is no head " + std::to_string(head_.head) +
                            "; each layer has 0 to " + std::to_string(count - 1));
    }
    // Maps may be of some heads alone.
    const auto& config = head_.variant->config;
    const auto heads_of = [&](const char* key) {
      const nlohmann::ordered_json::json_pointer path(std::string("/model/") + key);
      return config.contains(path) && config.at(path).is_number_integer()
                 ? std::max(1, config.at(path).get<int>())
                 : count;
    };
    const int group = heads_of("num_attention_heads") / heads_of("num_key_value_heads");
    head_.key_head = head_.head / std::max(1, group);
    return OkStatus();
  }

  Status AddNorms(const std::string& tensor) {
    const StatisticsTable table{"token_norms", "norms", "tensor = " + SqlText(tensor)};
    PlotOptions options = options_;
    options.layer = head_.layer;
    options.step = step_;
    GYRE_ASSIGN_OR_RETURN(const auto norms,
                          ReadStatistics(table, options, {head_.job->source}, ask_));
    const int head = tensor == "q" ? head_.head : head_.key_head;
    const auto job = norms.find(head_.job->source);
    if (job == norms.end() || !job->second.values.contains({head_.layer, head})) {
      return NoStatistics(table, options_, sweep_, kCollect, ask_);
    }
    const auto by_token = Matrix(job->second.values.at({head_.layer, head}));
    AddRows("norm of " + tensor, by_token);
    HeatMapPanel panel;
    panel.title = tensor == "q" ? "queries" : tensor == "k" ? "keys" : "values";
    if (tensor != "q") panel.title += ", head " + std::to_string(head);
    panel.cells = Transposed(by_token);
    panel.columns = Counted(by_token.size());
    panel.x_label = "token";
    const auto layer = static_cast<size_t>(head_.layer);
    const std::vector<double> of_layer =
        layer < frequencies_.size() ? frequencies_[layer] : std::vector<double>();
    SetPairAxis({of_layer}, head_.variant->context, &panel);
    panel.scale = ScaleOf({panel}, /*from_zero=*/true, "2-norm of the pair");
    map_.panels.push_back(std::move(panel));
    return OkStatus();
  }

  void AddMap(const std::vector<std::vector<double>>& weights) {
    AddRows("attention", weights);
    HeatMapPanel panel;
    panel.title = "attention";
    panel.cells = weights;
    // Keys after their query have no weight: blank, not zero.
    for (size_t query = 0; query < weights.size(); ++query) {
      for (size_t key = query + 1; key < weights[query].size(); ++key) {
        panel.cells[query][key] = std::numeric_limits<double>::quiet_NaN();
      }
    }
    panel.columns = Counted(weights.empty() ? 0 : weights.front().size());
    panel.rows = Counted(weights.size());
    panel.x_label = "key (token)";
    panel.y_label = "query (token)";
    panel.scale = ColorScale{0, 1, "attention weight"};
    panel.square = true;
    map_.panels.push_back(std::move(panel));
  }

  void AddRows(const std::string& what, const std::vector<std::vector<double>>& by_token) {
    for (size_t token = 0; token < by_token.size(); ++token) {
      for (size_t other = 0; other < by_token[token].size(); ++other) {
        plot_.rows.rows.push_back(
            {sweep_.name, head_.variant->name, static_cast<int64_t>(head_.job->seed), step_,
             int64_t{head_.layer}, int64_t{head_.head}, what, static_cast<int64_t>(token),
             static_cast<int64_t>(other), RealCell(by_token[token][other])});
      }
    }
  }

  void Words(const JobStatistics& map) {
    map_.words.title = sweep_.name + "/" + head_.variant->name + ": layer " +
                       std::to_string(head_.layer) + ", head " + std::to_string(head_.head) +
                       ", token by token";
    map_.words.subtitle = "The first tokens of one window";
    if (sweep_.pretrained) {
      map_.words.subtitle += "; norms before rotation.";
    } else {
      map_.words.subtitle +=
          ", which begins with a document (token 0 is its start); norms before rotation; seed " +
          std::to_string(head_.job->seed) + ", " +
          SeedsAndStep({{head_.variant, "", {}, {&map}}}).substr(std::string("one seed, ").size()) +
          ".";
    }
    if (std::any_of(map_.panels.begin(), map_.panels.end(),
                    [](auto& panel) { return !panel.right.empty(); })) {
      map_.words.footnotes.push_back(ContextLineInWords(head_.variant->context));
    }
    if (sweep_.variants.size() > 1) {
      plot_.notes.push_back("shown is the variant '" + head_.variant->name +
                            "'; choose another with --variant, and with --layer and --head");
    }
  }

  const PlotOptions& options_;
  const PlottedSweep& sweep_;
  const AskSql& ask_;
  std::map<int64_t, JobStatistics> maps_;
  std::vector<std::vector<double>> frequencies_;
  TokenHead head_;
  int64_t step_ = 0;
  HeatMap map_;
  Plot plot_;
};

}  // namespace

Result<Plot> MakeTokensPlot(const PlotOptions& options, const PlottedSweep& sweep,
                            const AskSql& ask) {
  return TokenPlotMaker(options, sweep, ask).Make();
}

}  // namespace gyre
