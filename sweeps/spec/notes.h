#pragma once

// What a person should know about a sweep although nothing is wrong with it; each sentence once, in
// order of discovery.

#include <set>
#include <string>
#include <vector>

namespace gyre {

class Notes {
 public:
  void Add(const std::string& note) {
    if (seen_.insert(note).second) notes_.push_back(note);
  }
  const std::vector<std::string>& all() const { return notes_; }

 private:
  std::set<std::string> seen_;
  std::vector<std::string> notes_;
};

}  // namespace gyre
