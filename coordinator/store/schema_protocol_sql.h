#pragma once

// Version 4 of the schema: what the lease protocol keeps beside attempts. As in schema_sql.h, the
// comments stay in the file.

namespace gyre {

// SQLite keeps a new column's comment only inside its definition.
inline constexpr char kVersion4Sql[] = R"sql(
CREATE TABLE coordinators (       -- a start of a coordinator on this file
  epoch INTEGER PRIMARY KEY,      -- grows with every start
  id TEXT NOT NULL UNIQUE,        -- random, so that a restored backup's next one is another
  version TEXT NOT NULL,
  started_at TEXT NOT NULL
);
ALTER TABLE attempts ADD COLUMN
  epoch TEXT /* id of the coordinator that leased it; empty = from before version 4 */
    NOT NULL DEFAULT '';
ALTER TABLE attempts ADD COLUMN
  suspected_at TEXT /* since then its worker is silent beyond its lease; NULL = it is heard of */;
ALTER TABLE jobs ADD COLUMN
  differing_points INTEGER /* that came again with another value under the same fingerprint */
    NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN
  stop_reason TEXT /* why it was STOPPED_EARLY; empty = it was not */ NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN
  forgiven INTEGER /* attempts up to this number count for nothing: it was queued anew since */
    NOT NULL DEFAULT 0;
ALTER TABLE sweeps ADD COLUMN
  stop_early TEXT /* JSON: the rule by which hopeless jobs end early; empty = none */
    NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN
  extended TEXT /* texts of the files that `yaml` extends, JSON by path */ NOT NULL DEFAULT '{}';
DROP INDEX jobs_by_key;  -- its only readers look for what has finished: other moves need not touch it
CREATE INDEX jobs_by_key ON jobs (key) WHERE state = 'SUCCEEDED' AND reused_from IS NULL;
)sql";

}  // namespace gyre
