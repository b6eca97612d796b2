#include "trainer/pretrained/gguf_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

namespace gyre {
namespace {

constexpr std::string_view kMagic = "GGUF";
constexpr uint64_t kMaxKeyBytes = 65535, kMaxNameBytes = 255, kMaxAlignment = 1 << 20,
                   kMaxValues = 10'000;
constexpr uint32_t kMaxDimensions = 4;

enum ValueType : uint32_t { kFloat = 6, kBool = 7, kString = 8, kList = 9, kDouble = 12 };

// Bytes of a value by its type; 0: a string or a list; -1: no type.
int SizeOf(uint32_t type) {
  constexpr int kSizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < std::size(kSizes) ? kSizes[type] : -1;
}

template <typename T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The shortest decimal number that means this one: 1e-05, not 9.99999974e-06.
double Widened(float value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double wide = value;
  std::from_chars(text, end, wide);
  return wide;
}

Json Scalar(uint32_t type, const char* from) {
  switch (type) {
    case 0:
      return Load<uint8_t>(from);
    case 1:
      return Load<int8_t>(from);
    case 2:
      return Load<uint16_t>(from);
    case 3:
      return Load<int16_t>(from);
    case 4:
      return Load<uint32_t>(from);
    case 5:
      return Load<int32_t>(from);
    case kFloat:
      return Widened(Load<float>(from));
    case kBool:
      return Load<uint8_t>(from) != 0;
    case 10:
      return Load<uint64_t>(from);
    case 11:
      return Load<int64_t>(from);
    default:
      return Load<double>(from);
  }
}

// ggml's names of types by number; nullptr: none that is known.
const char* TypeName(uint32_t type) {
  constexpr const char* kNames[] = {
      "F32",     "F16",    "Q4_0",    "Q4_1",  nullptr,  nullptr, "Q5_0",  "Q5_1",
      "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
      "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
      "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16"};
  return type < std::size(kNames) ? kNames[type] : nullptr;
}

}  // namespace

// Goes through the file once.
class GgufFile::Parser {
 public:
  Parser(std::string_view bytes, GgufFile* out) : bytes_(bytes), out_(out) {}

  Status Parse();
  const std::vector<TensorEntry>& tensors() const { return entries_; }
  size_t data_at() const { return data_at_; }

 private:
  template <typename T>
  Status Take(T* value) {
    if (bytes_.size() - at_ < sizeof *value) return Cut();
    *value = Load<T>(bytes_.data() + at_);
    at_ += sizeof *value;
    return OkStatus();
  }
  static Status Cut() { return DataLoss("it is cut off"); }
  Status TakeString(const char* what, uint64_t most, std::string_view* text);
  Status TakeBytes(uint64_t count, std::string_view* text);
  Status TakeValue();
  Status TakeList(const std::string& key);
  Status TakeTensor();
  Status CheckPlaces();

  std::string_view bytes_;
  GgufFile* out_;
  size_t at_ = 0, data_at_ = 0;
  uint64_t alignment_ = 32;
  std::vector<TensorEntry> entries_;
};

Status GgufFile::Parser::TakeBytes(uint64_t count, std::string_view* text) {
  if (count > bytes_.size() - at_) return Cut();
  *text = bytes_.substr(at_, count);
  at_ += count;
  return OkStatus();
}

Status GgufFile::Parser::TakeString(const char* what, uint64_t most, std::string_view* text) {
  uint64_t length = 0;
  GYRE_RETURN_IF_ERROR(Take(&length));
  if (length > most) {
    return DataLoss(std::string(what) + " of " + std::to_string(length) + " bytes is too long");
  }
  return TakeBytes(length, text);
}

Status GgufFile::Parser::TakeList(const std::string& key) {
  List list;
  GYRE_RETURN_IF_ERROR(Take(&list.type));
  GYRE_RETURN_IF_ERROR(Take(&list.count));
  const size_t begin = at_;
  const int size = SizeOf(list.type);
  if (size < 0 || list.type == kList) return DataLoss(key + " is a list of an unknown type");
  if (size > 0) {
    if (list.count > (bytes_.size() - at_) / static_cast<uint64_t>(size)) return Cut();
    at_ += list.count * static_cast<uint64_t>(size);
  }
  std::string_view skipped;
  for (uint64_t i = 0; size == 0 && i < list.count; ++i) {
    GYRE_RETURN_IF_ERROR(TakeString("a string", UINT64_MAX, &skipped));
  }
  list.bytes = bytes_.substr(begin, at_ - begin);
  out_->lists_.emplace(key, list);
  return OkStatus();
}

Status GgufFile::Parser::TakeValue() {
  std::string_view name, text;
  GYRE_RETURN_IF_ERROR(TakeString("a key", kMaxKeyBytes, &name));
  const std::string key(name);
  if (out_->values_.contains(key) || out_->lists_.contains(key)) {
    return DataLoss("the key " + key + " comes twice");
  }
  uint32_t type = 0;
  GYRE_RETURN_IF_ERROR(Take(&type));
  if (type == kList) return TakeList(key);
  if (type == kString) {
    GYRE_RETURN_IF_ERROR(TakeString("a string", UINT64_MAX, &text));
    out_->values_[key] = std::string(text);
    return OkStatus();
  }
  if (SizeOf(type) <= 0) {
    return DataLoss("the value of " + key + " has the unknown type " + std::to_string(type));
  }
  GYRE_RETURN_IF_ERROR(TakeBytes(static_cast<uint64_t>(SizeOf(type)), &text));
  out_->values_[key] = Scalar(type, text.data());
  return OkStatus();
}

Status GgufFile::Parser::TakeTensor() {
  std::string_view name;
  uint32_t dimensions = 0, type = 0;
  GYRE_RETURN_IF_ERROR(TakeString("a tensor's name", kMaxNameBytes, &name));
  TensorEntry entry{.name = std::string(name)};
  GYRE_RETURN_IF_ERROR(Take(&dimensions));
  if (dimensions > kMaxDimensions) {
    return DataLoss("tensor " + entry.name + " has " + std::to_string(dimensions) + " dimensions");
  }
  for (uint32_t i = 0; i < dimensions; ++i) {
    uint64_t size = 0;
    GYRE_RETURN_IF_ERROR(Take(&size));
    if (!std::in_range<int64_t>(size)) {
      return DataLoss("tensor " + entry.name + " has an impossible shape");
    }
    entry.shape.insert(entry.shape.begin(), static_cast<int64_t>(size));
  }
  GYRE_RETURN_IF_ERROR(Take(&type));
  GYRE_RETURN_IF_ERROR(Take(&entry.offset));
  const char* type_name = TypeName(type);
  if (type_name == nullptr || BytesOfValues(type_name, 0) < 0) {
    return InvalidArgument(
        "tensor " + entry.name + " is quantized as " +
        (type_name == nullptr ? "type " + std::to_string(type) + ", which is not known"
                              : std::string(type_name)) +
        "; " + ReadableTypes() + " can be read (llama.cpp's llama-quantize makes Q8_0 of others)");
  }
  entry.dtype = type_name;
  const int64_t count = ValueCount(entry.shape);
  const int64_t bytes = BytesOfValues(entry.dtype, count);
  if (bytes < 0 || (!entry.shape.empty() && BytesOfValues(entry.dtype, entry.shape.back()) < 0)) {
    return DataLoss("tensor " + entry.name + " has the shape " + ShapeText(entry.shape) +
                    ", which " + entry.dtype + " cannot have");
  }
  entry.bytes = static_cast<uint64_t>(bytes);
  if (entry.offset % alignment_ != 0) {
    return DataLoss("tensor " + entry.name + " does not lie at a multiple of " +
                    std::to_string(alignment_));
  }
  entries_.push_back(std::move(entry));
  return OkStatus();
}

Status GgufFile::Parser::CheckPlaces() {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : entries_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->offset - order[i - 1]->offset < order[i - 1]->bytes) {
      return DataLoss("the tensors " + order[i - 1]->name + " and " + order[i]->name + " overlap");
    }
  }
  return OkStatus();
}

Status GgufFile::Parser::Parse() {
  uint32_t version = 0;
  uint64_t tensors = 0, values = 0;
  at_ = kMagic.size();
  if (!bytes_.starts_with(kMagic)) return DataLoss("it does not begin with GGUF");
  GYRE_RETURN_IF_ERROR(Take(&version));
  if (version == 0x02000000 || version == 0x03000000) {
    return InvalidArgument("it is written for big-endian machines");
  }
  if (version != 2 && version != 3) {
    return InvalidArgument("it has the version " + std::to_string(version) +
                           "; 2 and 3 can be read");
  }
  GYRE_RETURN_IF_ERROR(Take(&tensors));
  GYRE_RETURN_IF_ERROR(Take(&values));
  if (values > kMaxValues) return DataLoss("it has " + std::to_string(values) + " values");
  for (uint64_t i = 0; i < values; ++i) GYRE_RETURN_IF_ERROR(TakeValue());
  if (const auto found = out_->values_.find("general.alignment"); found != out_->values_.end()) {
    alignment_ = found->is_number_unsigned() ? found->get<uint64_t>() : 0;
    if (!std::has_single_bit(alignment_) || alignment_ > kMaxAlignment) {
      return DataLoss("general.alignment is not a power of two");
    }
  }
  for (uint64_t i = 0; i < tensors; ++i) GYRE_RETURN_IF_ERROR(TakeTensor());
  data_at_ = std::min((at_ + alignment_ - 1) / alignment_ * alignment_, bytes_.size());
  return CheckPlaces();
}

Result<GgufFile> GgufFile::Open(const std::filesystem::path& path) {
  GYRE_ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  GgufFile out;
  Parser parser(mapped.bytes(), &out);
  const auto in_file = [&path](const Status& status) {
    return status.WithContext(
        path.string() + (status.code() == StatusCode::kDataLoss ? " is no whole GGUF file" : ""));
  };
  if (const Status status = parser.Parse(); !status.ok()) return in_file(status);
  out.tensors_ = MappedTensors(std::move(mapped), parser.data_at());
  for (const TensorEntry& entry : parser.tensors()) {
    if (const Status status = out.tensors_.Add(entry); !status.ok()) return in_file(status);
  }
  return out;
}

bool GgufFile::Is(const std::filesystem::path& path) {
  char magic[kMagic.size()] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic, sizeof magic) && std::string_view(magic, sizeof magic) == kMagic;
}

Result<GgufFile::List> GgufFile::Find(const std::string& key) const {
  const auto found = lists_.find(key);
  if (found == lists_.end()) return InvalidArgument("has no list " + key);
  return found->second;
}

Result<std::vector<std::string_view>> GgufFile::Strings(const std::string& key) const {
  GYRE_ASSIGN_OR_RETURN(const List list, Find(key));
  if (list.type != kString) return InvalidArgument(key + " must be a list of strings");
  std::vector<std::string_view> strings;
  for (size_t at = 0; strings.size() < list.count;) {
    const auto length = Load<uint64_t>(list.bytes.data() + at);
    strings.push_back(list.bytes.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  return strings;
}

Result<std::vector<int64_t>> GgufFile::WholeNumbers(const std::string& key) const {
  GYRE_ASSIGN_OR_RETURN(const List list, Find(key));
  if (list.type == kFloat || list.type == kDouble || list.type == kString) {
    return InvalidArgument(key + " must be a list of whole numbers");
  }
  std::vector<int64_t> numbers;
  const auto size = static_cast<size_t>(SizeOf(list.type));
  for (size_t i = 0; i < list.count; ++i) {
    const Json value = Scalar(list.type, list.bytes.data() + i * size);
    numbers.push_back(value.is_boolean() ? value.get<bool>() : value.get<int64_t>());
  }
  return numbers;
}

Result<std::vector<float>> GgufFile::Floats(const std::string& key) const {
  GYRE_ASSIGN_OR_RETURN(const List list, Find(key));
  if (list.type != kFloat) return InvalidArgument(key + " must be a list of 32-bit floats");
  std::vector<float> numbers(list.count);
  if (list.count > 0) std::memcpy(numbers.data(), list.bytes.data(), list.bytes.size());
  return numbers;
}

}  // namespace gyre
