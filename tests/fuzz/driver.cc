// Runs a fuzzer without libFuzzer: FUZZER RUNS FOLDER... takes every file of the folders, then so
// many mutations of them, which a fixed seed names. An input that ends the process is written to
// fuzz-crash; FUZZER 0 FOLDER runs it again.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "tests/fuzz/fuzz.h"

namespace {

std::string current;  // what runs at this moment, for OnCrash

void OnCrash(int signal) {
  const int fd = open("fuzz-crash", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (write(fd, current.data(), current.size()) < 0) _exit(3);
  close(fd);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void Run(std::string input) {
  current = std::move(input);
  // A block of its own, so that a sanitizer sees what is read behind its end.
  std::vector<uint8_t> bytes(current.begin(), current.end());
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

class Mutator {
 public:
  explicit Mutator(const std::vector<std::string>& corpus) : corpus_(corpus) {}

  std::string Next() {
    std::string text = corpus_[Below(corpus_.size())];
    for (size_t changes = 1 + Below(4); changes > 0; --changes) Change(&text);
    return text;
  }

 private:
  size_t Below(size_t end) { return end == 0 ? 0 : random_() % end; }

  void Change(std::string* text) {
    const size_t at = Below(text->size() + 1),
                 length = Below(std::min<size_t>(32, text->size()) + 1);
    const std::string& other = corpus_[Below(corpus_.size())];
    switch (Below(7)) {
      case 0:
        if (at < text->size()) (*text)[at] = static_cast<char>((*text)[at] ^ (1 << Below(8)));
        break;
      case 1:
        text->erase(at, length);
        break;
      case 2:
        text->insert(at, text->substr(Below(text->size() + 1), length));
        break;
      case 3:
        text->insert(at, other.substr(Below(other.size() + 1), 1 + Below(64)));
        break;
      case 4:
        text->insert(at, kTokens[Below(std::size(kTokens))]);
        break;
      case 5:
        text->insert(at, 1 + Below(300), static_cast<char>(Below(256)));
        break;
      default:
        text->resize(at);
    }
  }

  static constexpr const char* kTokens[] = {"\xff\xff\xff\xff\xff\xff\xff\xff",
                                            "18446744073709551616",
                                            "-1",
                                            "1e999",
                                            "nan",
                                            "null",
                                            "{",
                                            "[",
                                            "\"",
                                            "\n",
                                            "\x7f\xff\xff\xff",
                                            "\xc3",
                                            "&a ",
                                            "*a",
                                            "<<: ",
                                            "0",
                                            ".",
                                            "'"};

  const std::vector<std::string>& corpus_;
  std::mt19937_64 random_{20240607};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s RUNS FOLDER...\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, OnCrash);
  std::vector<std::string> files;
  for (int i = 2; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const std::string& file : files) {
    const auto content = gyre::ReadFile(file);
    if (!content.ok()) return 2;
    corpus.push_back(*content);
    Run(*content);
  }
  if (corpus.empty()) return 2;
  Mutator mutator(corpus);
  for (long runs = std::strtol(argv[1], nullptr, 10); runs > 0; --runs) Run(mutator.Next());
  return 0;
}
