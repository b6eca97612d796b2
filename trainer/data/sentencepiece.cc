#include "trainer/data/sentencepiece.h"

#include <dlfcn.h>

#include <filesystem>
#include <utility>

namespace gyre {
namespace {

// Beside the program, or where it was built.
Result<const SentencePieceFunctions*> Load() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string fault;
  for (const std::filesystem::path& path : {program.parent_path() / "gyre-sentencepiece.so",
                                            std::filesystem::path(GYRE_SENTENCEPIECE_MODULE)}) {
    // Never closed: tokenizers live in it.
    void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (module == nullptr) {
      fault = dlerror();
      continue;
    }
    using Entry = const SentencePieceFunctions* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(module, "gyre_sentencepiece"));
    if (entry != nullptr) return entry();
    fault = dlerror();
  }
  return Unimplemented("cannot load SentencePiece: " + fault +
                       "; install libsentencepiece0 and keep gyre-sentencepiece.so beside the "
                       "program, or use tokenizer: bytes");
}

const Result<const SentencePieceFunctions*>& Loaded() {
  static const Result<const SentencePieceFunctions*> loaded = Load();
  return loaded;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> OpenSentencePiece(std::string model, const std::string& name) {
  GYRE_ASSIGN_OR_RETURN(const SentencePieceFunctions* functions, Loaded());
  return functions->open(std::move(model), name);
}

Result<std::string> TrainSentencePiece(const std::vector<std::string>& lines, int vocab_size) {
  GYRE_ASSIGN_OR_RETURN(const SentencePieceFunctions* functions, Loaded());
  return functions->train(lines, vocab_size);
}

}  // namespace gyre
