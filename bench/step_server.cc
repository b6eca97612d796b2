#include "bench/step_server.h"

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>

namespace gyre {

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ProcessSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int ServeSteps(Json about, const StepFunction& step) {
  about["ready"] = WallSeconds();
  std::cout << about.dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const int count = std::atoi(line.c_str());
    const double processor = ProcessSeconds(), wall = WallSeconds();
    Json answer;
    for (int i = 0; i < count; ++i) {
      auto said = step(i);
      if (!said.ok()) {
        std::cerr << said.status() << "\n";
        return 1;
      }
      answer = *std::move(said);
    }
    answer["seconds"] = WallSeconds() - wall;
    answer["processor"] = ProcessSeconds() - processor;
    std::cout << answer.dump() << std::endl;
  }
  return 0;
}

int ServeAbsence(const std::string& why) {
  std::cout << Json{{"absent", why}}.dump() << std::endl;
  return 0;
}

}  // namespace gyre
