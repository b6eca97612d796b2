#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "trainer/pretrained/model_file.h"

namespace gyre {
namespace {

constexpr uint32_t kMagic = 0x616b3432;  // "ak42"; version 0 has none
constexpr size_t kVersionedHeader = 256;
constexpr int32_t kMost = 1 << 24;  // of anything in a header

struct Header {
  int version = 0;
  std::array<int32_t, 7>
      numbers;  // hidden, MLP, layers, heads, key/value heads, vocabulary, context
  bool shared_head = true;
  size_t bytes = sizeof numbers;

  int32_t hidden() const { return numbers[0]; }
  int32_t layers() const { return numbers[2]; }
  int32_t heads() const { return numbers[3]; }
  int32_t keys() const { return numbers[4] * (hidden() / heads()); }
  int32_t vocabulary() const { return numbers[5]; }
};

Result<Header> ReadHeader(std::string_view bytes) {
  Header header;
  uint32_t magic = 0;
  if (bytes.size() < sizeof magic) return DataLoss("is cut off");
  std::memcpy(&magic, bytes.data(), sizeof magic);
  size_t at = 0;
  if (magic == kMagic) {
    header.bytes = kVersionedHeader;
    at = 2 * sizeof magic;
  }
  if (bytes.size() < header.bytes) return DataLoss("is cut off");
  std::memcpy(header.numbers.data(), bytes.data() + at, sizeof header.numbers);
  if (at > 0) {
    std::memcpy(&header.version, bytes.data() + sizeof magic, sizeof header.version);
    header.shared_head = bytes[at + sizeof header.numbers] != 0;
    if (header.version != 1) {
      return InvalidArgument("is a llama2.c model of version " + std::to_string(header.version) +
                             "; versions 0 and 1 (float32) can be read");
    }
  } else if (header.numbers[5] < 0 && header.numbers[5] > -kMost) {
    header.numbers[5] *= -1;
    header.shared_head = false;
  }
  const bool sizes = std::all_of(header.numbers.begin(), header.numbers.end(),
                                 [](int32_t n) { return n >= 1 && n <= kMost; });
  if (!sizes || header.hidden() % header.heads() != 0 || header.heads() % header.numbers[4] != 0) {
    return InvalidArgument(
        "is neither a GGUF file nor a llama2.c model: its header makes no sense as either");
  }
  return header;
}

// The file's tensors one after the other.
class Tensors {
 public:
  Tensors(MappedFile file, size_t at) : tensors_(std::move(file), 0), at_(at) {}

  void Add(const std::string& name, const std::vector<int64_t>& shape) {
    const auto bytes = static_cast<uint64_t>(std::max<int64_t>(ValueCount(shape), 0)) * 4;
    if (!status_.ok()) return;
    status_ =
        tensors_.Add({.name = name + ".weight", .shape = shape, .offset = at_, .bytes = bytes});
    if (status_.ok()) at_ += bytes;
  }
  // One a layer. `name` has what stands after "model.layers.N.".
  void AddLayers(int layers, const std::string& name, const std::vector<int64_t>& shape) {
    for (int l = 0; l < layers && status_.ok(); ++l) {
      Add("model.layers." + std::to_string(l) + "." + name, shape);
    }
  }
  // What follows from the configuration.
  void Skip(uint64_t floats) { at_ += floats * 4; }

  Result<MappedTensors> Finish() {
    GYRE_RETURN_IF_ERROR(status_);
    if (at_ == tensors_.bytes().size()) return std::move(tensors_);
    return DataLoss("has " + std::to_string(tensors_.bytes().size()) +
                    " bytes, and a model of its header has " + std::to_string(at_));
  }

 private:
  MappedTensors tensors_;
  uint64_t at_;
  Status status_;
};

Result<MappedTensors> PlaceTensors(MappedFile file, const Header& header) {
  const int64_t hidden = header.hidden(), inner = header.numbers[1], keys = header.keys();
  const int layers = header.layers();
  const bool norms_first = header.version == 1;
  Tensors tensors(std::move(file), header.bytes);
  const auto embedding = [&] { tensors.Add("model.embed_tokens", {header.vocabulary(), hidden}); };
  const auto norm = [&](const char* name) { tensors.AddLayers(layers, name, {hidden}); };
  if (norms_first) {
    norm("input_layernorm");
    norm("post_attention_layernorm");
    tensors.Add("model.norm", {hidden});
    embedding();
  } else {
    embedding();
    norm("input_layernorm");
  }
  tensors.AddLayers(layers, "self_attn.q_proj", {hidden, hidden});
  tensors.AddLayers(layers, "self_attn.k_proj", {keys, hidden});
  tensors.AddLayers(layers, "self_attn.v_proj", {keys, hidden});
  tensors.AddLayers(layers, "self_attn.o_proj", {hidden, hidden});
  if (!norms_first) norm("post_attention_layernorm");
  tensors.AddLayers(layers, "mlp.gate_proj", {inner, hidden});
  tensors.AddLayers(layers, "mlp.down_proj", {hidden, inner});
  tensors.AddLayers(layers, "mlp.up_proj", {inner, hidden});
  if (!norms_first) {
    tensors.Add("model.norm", {hidden});
    // Cosines and sines of every place of the context, one a pair.
    const auto context = static_cast<uint64_t>(header.numbers[6]);
    tensors.Skip(context * static_cast<uint64_t>(hidden / header.heads() / 2) * 2);
  }
  if (!header.shared_head) tensors.Add("lm_head", {header.vocabulary(), hidden});
  return tensors.Finish();
}

Result<ModelFile> Open(MappedFile file) {
  GYRE_ASSIGN_OR_RETURN(const Header header, ReadHeader(file.bytes()));
  ModelFile model;
  GYRE_ASSIGN_OR_RETURN(model.tensors, PlaceTensors(std::move(file), header));
  GYRE_ASSIGN_OR_RETURN(model.config,
                        ParseHuggingFaceConfig({{"model_type", "llama"},
                                                {"hidden_size", header.hidden()},
                                                {"intermediate_size", header.numbers[1]},
                                                {"num_hidden_layers", header.layers()},
                                                {"num_attention_heads", header.heads()},
                                                {"num_key_value_heads", header.numbers[4]},
                                                {"vocab_size", header.vocabulary()},
                                                {"max_position_embeddings", header.numbers[6]},
                                                {"rms_norm_eps", 1e-5},
                                                {"tie_word_embeddings", header.shared_head},
                                                {"rope_theta", 10000.0}}));
  model.config.says_qk_norm = true;
  SetPairing("interleaved", &model.config.position);
  return model;
}

}  // namespace

Result<ModelFile> OpenLlama2c(const std::filesystem::path& path) {
  GYRE_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path));
  auto model = Open(std::move(file));
  if (model.ok()) return model;
  return Status(model.status().code(), path.string() + " " + model.status().message());
}

}  // namespace gyre
