// Speaks the protocol of trainer/serve.h without training: the job's "script" says what it does,
// word by word.
//   "point"  says a point (metric "m", step and tokens counted up, value = step / 3)   "points:N"
//   N of them "progress" "checkpoint"   says one      "done" "error" "lost"   ends the job so
//   "wait" until a command comes: after stop it says checkpoint and done (stopped), after
//   checkpoint it says one and
//            goes on waiting
//   "disk_full"   says that it found no room
//   "peer"   says that another rank is gone, which ends the job
//   "meet"   waits until every rank has come so far
//   "@N WORD"   WORD, if it is rank N
//   "deaf"   ignores every command from now on; still exits at end of file
//   "garbage" "huge" "silence"   says what is no message; says a line without end; closes fd 3
//   "kill:N" "exit:N"   raises signal N; exits with code N after a last word on stderr
//   "child"  leaves behind a process that lives on     "daemon"   one that has left its group, its
//   session, its parent and its environment behind    "log:N" writes N lines to stderr "stubborn"
//   doesn't even exit at end of file from now on
// FAKE_TRAINER_PROTOCOL in the environment is the protocol it says it speaks. "devices" prints
// FAKE_TRAINER_DEVICES, or hangs.

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace {

using Json = nlohmann::json;

std::mutex mutex;
std::condition_variable changed;
std::deque<Json> commands;
std::atomic<bool> stubborn{false};

void Say(const std::string& text) {
  size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t written = write(3, text.data() + sent, text.size() - sent);
    if (written <= 0) _exit(9);
    sent += static_cast<size_t>(written);
  }
}
void Say(const Json& message) { Say(message.dump() + "\n"); }

void ReadCommands() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::lock_guard lock(mutex);
    commands.push_back(Json::parse(line));
    changed.notify_all();
  }
  while (stubborn) pause();
  _exit(0);
}

Json NextCommand() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [] { return !commands.empty(); });
  Json command = commands.front();
  commands.pop_front();
  return command;
}

class Job {
 public:
  explicit Job(const Json& run) : run_(run) {}

  void Do() {
    std::fprintf(stderr, "job begins, threads %d, pid %d\n", run_.at("threads").get<int>(),
                 getpid());
    if (run_.contains("world")) {
      std::fprintf(stderr, "rank %d of %d in %s on %s\n", run_.at("rank").get<int>(),
                   run_.at("world").get<int>(), run_.at("rendezvous").get<std::string>().c_str(),
                   run_.value("device", "no device").c_str());
    }
    if (run_.value("rank", 0) == 0) {
      Json fingerprint = {{"backend", run_.at("device")}, {"threads", run_.at("threads")}};
      if (run_.contains("world")) fingerprint["ranks"] = run_.at("world");
      Say({{"type", "started"}, {"fingerprint", fingerprint}});
    }
    for (const auto& word : run_.at("job").at("script")) {
      if (!Do(word.get<std::string>())) return;
    }
  }

 private:
  // By files; ends with the process at the latest.
  void Meet() {
    const std::string place = run_.at("rendezvous").get<std::string>() + "-met-";
    std::ofstream(place + std::to_string(run_.at("rank").get<int>())) << "here";
    for (int rank = 0; rank < run_.at("world").get<int>(); ++rank) {
      while (access((place + std::to_string(rank)).c_str(), F_OK) != 0) std::this_thread::yield();
    }
  }

  bool Do(const std::string& text) {
    if (text[0] == '@' && std::atoi(text.c_str() + 1) != run_.value("rank", 0)) return true;
    const std::string word = text[0] == '@' ? text.substr(text.find(' ') + 1) : text;
    const size_t colon = word.find(':');
    const std::string verb = word.substr(0, colon);
    const int number = colon == std::string::npos ? 1 : std::atoi(word.c_str() + colon + 1);
    if (verb == "point" || verb == "points") {
      for (int i = 0; i < number; ++i) {
        ++step_;
        Say({{"type", "point"},
             {"metric", "m"},
             {"step", step_},
             {"tokens", step_ * 10},
             {"value", step_ / 3.0}});
      }
    } else if (verb == "nan") {
      ++step_;
      Say({{"type", "point"},
           {"metric", "m"},
           {"step", step_},
           {"tokens", step_ * 10},
           {"value", nullptr},
           {"special", "nan"}});
    } else if (verb == "progress") {
      Say({{"type", "progress"},
           {"step", step_},
           {"tokens", step_ * 10},
           {"tokens_per_second", 5.5},
           {"loss", 2.5}});
    } else if (verb == "checkpoint") {
      SayCheckpoint();
    } else if (verb == "disk_full") {
      Say({{"type", "disk_full"}, {"message", "no room"}});
    } else if (verb == "done") {
      SayDone(false);
      return false;
    } else if (verb == "error") {
      Say({{"type", "error"}, {"code", "NOT_FOUND"}, {"message", "no data set"}});
      return false;
    } else if (verb == "peer") {
      Say({{"type", "error"}, {"code", "UNAVAILABLE"}, {"message", "rank 1 is gone"}});
      return false;
    } else if (verb == "meet") {
      Meet();
    } else if (verb == "lost") {
      Say({{"type", "error"}, {"code", "UNAVAILABLE"}, {"message", "fallen off the bus"}});
      return false;
    } else if (verb == "wait") {
      return Wait();
    } else if (verb == "deaf") {
      while (true) pause();
    } else if (verb == "stubborn") {
      stubborn = true;
    } else if (verb == "garbage") {
      Say(std::string("this is no message\n"));
    } else if (verb == "huge") {
      while (true) Say(std::string(1 << 16, 'x'));
    } else if (verb == "silence") {
      close(3);
      while (true) pause();
    } else if (verb == "kill") {
      signal(number, SIG_DFL);  // a sanitizer may have its own ideas
      raise(number);
    } else if (verb == "exit") {
      std::fprintf(stderr, "something is wrong here\n");
      _exit(number);
    } else if (verb == "child") {
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, 0);
        while (true) pause();
      }
    } else if (verb == "daemon") {
      if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        std::fprintf(stderr, "daemon %d\n", getpid());
        char* nothing[] = {nullptr};
        char sleep[] = "/bin/sleep", long_time[] = "100000";
        char* arguments[] = {sleep, long_time, nullptr};
        execve(sleep, arguments, nothing);
      }
      wait(nullptr);
    } else if (verb == "log") {
      for (int i = 0; i < number; ++i) std::fprintf(stderr, "line %d\n", i);
    }
    return true;
  }

  bool Wait() {
    while (true) {
      const Json command = NextCommand();
      if (command.at("type") == "checkpoint") SayCheckpoint();
      if (command.at("type") == "stop") {
        SayCheckpoint();
        SayDone(true);
        return false;
      }
    }
  }

  void SayCheckpoint() {
    Say({{"type", "checkpoint"},
         {"hash", std::string(64, 'a')},
         {"bytes", 7},
         {"step", step_},
         {"tokens", step_ * 10},
         {"weights_only", false}});
  }
  void SayDone(bool stopped) {
    Say({{"type", "done"},
         {"step", step_},
         {"tokens", step_ * 10},
         {"stopped", stopped},
         {"diverged_at_step", nullptr},
         {"tokens_per_second", 9.5},
         {"peak_memory_bytes", 1000}});
  }

  const Json run_;
  int step_ = 0;
};

int ReportDevices() {
  const char* report = std::getenv("FAKE_TRAINER_DEVICES");
  if (report == nullptr) report = R"({"gpus": [], "absent": "nobody has made one"})";
  if (report == std::string("hang")) pause();
  std::ifstream file(report);  // or the name of a file that has it
  if (file) return std::cout << file.rdbuf(), 0;
  std::printf("%s\n", report);
  std::fprintf(stderr, "devices were asked for\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string("devices")) return ReportDevices();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // as trainer/serve.cc has it
  std::thread(ReadCommands).detach();
  int protocol = 2;
  if (const char* wanted = std::getenv("FAKE_TRAINER_PROTOCOL")) protocol = std::atoi(wanted);
  Say({{"type", "hello"},
       {"version", "test"},
       {"protocol", protocol},
       {"fingerprint", {{"backend", "fake"}}},
       {"precisions", {"float32"}}});
  while (true) {
    const Json command = NextCommand();
    if (command.at("type") == "run") Job(command).Do();
  }
}
