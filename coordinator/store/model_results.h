#pragma once

// What was found of a pretrained model, as rows of the results database. The writer need not be the
// coordinator that has the file: these are tables of their own, and everything is one short
// transaction, which SQLite lets wait for others'. Only who brings a file's schema up to date must
// be alone with it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "trainer/statistics/record.h"

namespace gyre {

struct ModelRecord {
  std::string name, variant;  // what stands for sweep and variant in views; unique together
  std::string path;
  std::string weights_hash;  // of configuration and weights
  std::string config;        // JSON: model, position, data.context as jobs have them
  std::string rotation;      // JSON, as in jobs
  std::string text, text_hash;
  int context = 0;
  int64_t windows = 0, tokens = 0;
  double loss = 0;  // mean, in nats
};

/// Of one head, token by token.
struct AlignmentRow {
  int layer = 0, head = 0;
  std::vector<double> bounds, own, previous;
};

struct ModelResults {
  ModelRecord model;
  StatisticsRecord statistics;
  std::vector<AlignmentRow> alignments;
};

/// Whether results of that name could be written, before there are any. ALREADY_EXISTS: the name is
/// that of a sweep, or of another model or text, and not `replace`. UNAVAILABLE: a coordinator has
/// the file, which is of an older version. DATA_LOSS, FAILED_PRECONDITION: no database of Gyre's.
/// INVALID_ARGUMENT, INTERNAL: no file can be made there.
Status CheckModelPlace(const std::filesystem::path& database, const ModelRecord& model,
                       bool replace);

/// Creates the file where there is none. What the database has by that name goes: of the same model
/// and text, or with `replace` of any. All of it is written or nothing. Else as above.
Status WriteModelResults(const std::filesystem::path& database, const ModelResults& results,
                         Millis wall, bool replace);

}  // namespace gyre
