#include "cli/theory_options.h"

#include <charconv>
#include <cmath>

#include "analysis/theory/logits.h"
#include "results/numbers.h"

namespace gyre {
namespace {

constexpr int kLargestHead = 8192;
constexpr size_t kMostHeads = 8;

std::string Number(double value) {
  std::string text = FormatFixed(value, 4);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Status Check(const HeadOptions& options) {
  if (options.head_dim < 2 || options.head_dim > kLargestHead || options.head_dim % 2 != 0) {
    return InvalidArgument("--head-dim must be an even number from 2 to " +
                           std::to_string(kLargestHead) + " (a rotation turns pairs), and is " +
                           std::to_string(options.head_dim));
  }
  for (const double theta : options.thetas) {
    if (!std::isfinite(theta) || theta <= 1) {
      return InvalidArgument("--theta must be a finite number above 1, and is " + Number(theta));
    }
  }
  for (const double p : options.shares) {
    if (!(p >= 0 && p <= 1)) {
      return InvalidArgument("--p must be from 0 (NoPE) to 1 (RoPE), and is " + Number(p));
    }
  }
  const size_t heads = options.thetas.size() * options.shares.size();
  if (heads > kMostHeads) {
    return InvalidArgument(std::to_string(heads) +
                           " combinations of --theta and --p are too many " +
                           "to show together; at most " + std::to_string(kMostHeads));
  }
  return OkStatus();
}

// What the sweep language calls by a path is an option here.
Status InOptions(const Status& status) {
  std::string message = status.message();
  for (const auto& [path, option] :
       {std::pair("position.scaling.type", "--scaling"),
        std::pair("position.scaling.original_max_position_embeddings", "--original-length"),
        std::pair("position.scaling.", "--"), std::pair("position.", "--")}) {
    for (size_t at = 0; (at = message.find(path, at)) != std::string::npos;) {
      message.replace(at, std::string_view(path).size(), option);
    }
  }
  return {status.code(), message};
}

std::string NameOf(const HeadOptions& options, double theta, double p) {
  if (p == 0) return "NoPE";
  std::string name = p == 1 ? "RoPE" : Number(p) + "-RoPE";
  if (options.spacing == "respaced") name += " re-spaced";
  if (options.keep == "low") name += " reversed";
  if (!options.band.empty()) name += " band " + options.band;
  name += " θ=" + FormatCount(theta);
  if (options.scaling != "none") name += " " + options.scaling + " ×" + Number(options.factor);
  return name;
}

}  // namespace

void AddHeadOptions(CLI::App* command, HeadOptions* options) {
  auto* head_dim = command->add_option("--head-dim", options->head_dim,
                                       "d, coordinates of a head: an even number");
  if (options->head_dim > 0) head_dim->capture_default_str();
  command
      ->add_option("--theta", options->thetas,
                   "Base of the frequencies (default 10000); may be given more than once")
      ->allow_extra_args(false);
  command
      ->add_option("--p", options->shares,
                   "Share of the pairs that rotate, the fastest: 1 = RoPE (default), 0 = NoPE; may "
                   "be given more than once")
      ->allow_extra_args(false);
  command->add_option("--keep", options->keep, "Which share --p keeps: high (default) or low");
  command->add_option("--spacing", options->spacing,
                      "full (default), or respaced: a ladder of p·d coordinates");
  command->add_option("--band", options->band, "Only pairs FIRST:END rotate, 0 the fastest")
      ->type_name("FIRST:END");
  command->add_option("--scaling", options->scaling, "none, linear, dynamic, yarn or llama3");
  command->add_option("--factor", options->factor, "Of --scaling");
  command->add_option("--original-length", options->original_length,
                      "Of --scaling: the length that it scales from");
}

Result<std::pair<int, int>> ReadPairs(const std::string& option, const std::string& text,
                                      int pairs) {
  int begin = 0, end = 0;
  const char* const last = text.data() + text.size();
  const auto first = std::from_chars(text.data(), last, begin);
  if (first.ec == std::errc() && first.ptr != last && *first.ptr == ':') {
    const auto second = std::from_chars(first.ptr + 1, last, end);
    const bool whole = second.ec == std::errc() && second.ptr == last;
    if (whole && begin >= 0 && begin < end && end <= pairs) return std::pair(begin, end);
  }
  return InvalidArgument(option + " must be FIRST:END with 0 <= FIRST < END <= " +
                         std::to_string(pairs) + ", the pairs of this head, and is '" + text + "'");
}

Result<Rotation> MakeRotation(const HeadOptions& options, double theta, double p, int length) {
  GYRE_RETURN_IF_ERROR(Check(options));
  EncodingConfig encoding{.theta = theta, .p = p, .keep = options.keep, .spacing = options.spacing};
  if (!options.band.empty()) {
    GYRE_ASSIGN_OR_RETURN(encoding.band, ReadPairs("--band", options.band, options.head_dim / 2));
  }
  encoding.scaling.type = options.scaling;
  encoding.scaling.factor = options.factor;
  encoding.scaling.original_max_position_embeddings = options.original_length;
  auto rotation = RotationOfHead(encoding, options.head_dim, length);
  if (!rotation.ok()) return InOptions(rotation.status());
  return rotation;
}

Result<std::vector<TheoryHead>> MakeHeads(const HeadOptions& options, int length) {
  GYRE_RETURN_IF_ERROR(Check(options));
  std::vector<TheoryHead> heads;
  bool nope = false;
  for (const double theta : options.thetas) {
    for (const double p : options.shares) {
      if (p == 0 && nope) continue;
      nope = nope || p == 0;
      GYRE_ASSIGN_OR_RETURN(Rotation rotation, MakeRotation(options, theta, p, length));
      heads.push_back({NameOf(options, theta, p), theta, p, std::move(rotation)});
    }
  }
  return heads;
}

Result<TheoryHead> MakeOneHead(const HeadOptions& options, int length) {
  GYRE_ASSIGN_OR_RETURN(std::vector<TheoryHead> heads, MakeHeads(options, length));
  if (heads.size() > 1) {
    return InvalidArgument("this experiment takes one encoding: give --theta and --p once");
  }
  return std::move(heads.front());
}

Status CheckWork(int head_dim, double places, const std::string& smaller) {
  if (head_dim / 2 * places <= kMostTheoryWork) return OkStatus();
  return InvalidArgument("that is too much to compute in one go (" +
                         FormatCount(head_dim / 2 * places) + " cosines, at most " +
                         FormatCount(kMostTheoryWork) + "): make " + smaller + " smaller");
}

}  // namespace gyre
