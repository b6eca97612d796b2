// gyre-trainer: the trainer without coordinator and worker. A worker runs it as a child; a person
// debugs with it.

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "trainer/commands.h"

namespace {

struct Command {
  const char* name;
  const char* arguments;
  const char* does;
  int (*run)(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);
  const char* example = "";
};

constexpr Command kCommands[] = {
    {"train",
     "JOB.json [--home DIR] [--resume HASH] [--threads N] [--backend cpu|reference] "
     "[--statistics FILE] [--rank R --world W --rendezvous DIR]",
     "train one job, printing its points, and adding each record of its statistics to FILE as a "
     "line of JSON;\n      in W processes at once, each with a rank from 0 to W-1 "
     "of its own\n      and the same folder DIR, new for each start, in which they find each "
     "other:\n"
     "        gyre-trainer train JOB.json --rank 0 --world 2 --rendezvous /tmp/ranks-1 &\n"
     "        gyre-trainer train JOB.json --rank 1 --world 2 --rendezvous /tmp/ranks-1",
     gyre::TrainCommand},
    {"serve", "", "train what a worker asks for, on standard input", gyre::ServeCommand},
    {"verify", "DIR... [--backend cpu|reference] [--threads N] [--precision float32|bf16]",
     "hold this build against a folder's recorded numbers", gyre::VerifyCommand},
    {"inspect", "MODEL [--context N]",
     "shapes, parameter counts and frequencies of a model: a folder, a GGUF file or llama2.c's "
     ".bin",
     gyre::InspectCommand},
    {"eval",
     "MODEL --tokens FILE | --dataset HASH [--home DIR] [--context N] [--backend cpu|reference] "
     "[--threads N]",
     "loss and perplexity of a model on token ids (a JSON list, or numbers with spaces) or a data "
     "set",
     gyre::EvalCommand},
    {"devices", "[--format table|json]",
     "the GPUs that this program can train on, or why there are none", gyre::DevicesCommand,
     "gyre-trainer devices --format json"},
};

void PrintUsage(std::ostream& out) {
  out << "usage: gyre-trainer COMMAND ...\n\n";
  for (const Command& command : kCommands) {
    out << "  " << command.name << " " << command.arguments << "\n      " << command.does << "\n";
  }
  out << "\nexample: gyre-trainer verify tests/trainer/reference/llama-rope\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    PrintUsage(arguments.empty() ? std::cerr : std::cout);
    return arguments.empty() ? 2 : 0;
  }
  for (const Command& command : kCommands) {
    if (arguments[0] == command.name) {
      if (arguments.size() == 2 && arguments[1] == "--help") {
        std::cout << "usage: gyre-trainer " << command.name << " " << command.arguments << "\n  "
                  << command.does << "\n";
        if (*command.example != '\0') std::cout << "\nexample: " << command.example << "\n";
        return 0;
      }
      return command.run({arguments.begin() + 1, arguments.end()}, std::cout, std::cerr);
    }
  }
  std::cerr << "gyre-trainer: there is no command '" << arguments[0] << "'\n\n";
  PrintUsage(std::cerr);
  return 2;
}
