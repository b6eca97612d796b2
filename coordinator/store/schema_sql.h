#pragma once

// The text of each schema version's step. SQLite keeps the comments, so that `.schema jobs` explains itself.

namespace gyre {

inline constexpr char kTablesSql[] = R"sql(
CREATE TABLE sweeps (             -- a submitted sweep
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,      -- as in the YAML; "NAME@ID" once another sweep has replaced it
  description TEXT NOT NULL DEFAULT '',
  question TEXT NOT NULL DEFAULT '',  -- what it is to answer
  yaml TEXT NOT NULL,             -- as given
  file TEXT NOT NULL DEFAULT '',  -- the name of the YAML file
  folder TEXT NOT NULL DEFAULT '',  -- what its relative paths were relative to
  resolved TEXT NOT NULL,         -- JSON: everything that submitting again compares
  intent TEXT NOT NULL CHECK (intent IN ('ACTIVE', 'PAUSED', 'CANCELED')),  -- what its user wants
  priority INTEGER NOT NULL DEFAULT 0,  -- higher goes first
  baseline TEXT NOT NULL DEFAULT '',  -- the variant that comparisons are paired with
  resources TEXT NOT NULL,        -- JSON: gpus, cpus, memory_bytes of each job
  retry_attempts INTEGER NOT NULL,  -- how often a failing job is tried
  retry_backoff_ms INTEGER NOT NULL,  -- the pause after the first failure; it doubles
  timeout_ms INTEGER NOT NULL,    -- the longest that a job may run; 0 = no limit
  submitted_by TEXT NOT NULL DEFAULT '',
  submitted_at TEXT NOT NULL      -- times are UTC, ISO 8601 with milliseconds
);

CREATE TABLE variants (           -- a named configuration within a sweep, without the seed
  id INTEGER PRIMARY KEY,
  sweep_id INTEGER NOT NULL REFERENCES sweeps,
  name TEXT NOT NULL,
  config TEXT NOT NULL,           -- JSON, with every default filled in
  train_dataset TEXT NOT NULL,    -- hash of the training text
  validation_datasets TEXT NOT NULL,  -- JSON: hash by name of the validation set
  baseline_id INTEGER REFERENCES variants,  -- the variant it is compared with; NULL = none
  position_type TEXT NOT NULL,    -- rope, nope, alibi
  theta REAL,                     -- base wavelength; NULL where nothing rotates
  p REAL,                         -- share of the frequencies kept
  keep TEXT,                      -- high or low: which frequencies p keeps
  spacing TEXT,                   -- full or respaced
  UNIQUE (sweep_id, name)
);

CREATE TABLE jobs (               -- a variant with a seed
  id INTEGER PRIMARY KEY,         -- within a sweep, the order in which they run
  sweep_id INTEGER NOT NULL REFERENCES sweeps,
  variant_id INTEGER NOT NULL REFERENCES variants,
  seed INTEGER NOT NULL,
  key TEXT NOT NULL,              -- hash of everything that its points depend on
  state TEXT NOT NULL CHECK (state IN
    ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'STOPPED_EARLY', 'CANCELED')),
  cancel_requested INTEGER NOT NULL DEFAULT 0,  -- 1: its user wants it to end
  parameters INTEGER NOT NULL,    -- trained parameters of the model
  tokens_budget INTEGER NOT NULL,
  tokens_done INTEGER NOT NULL DEFAULT 0,
  rotation TEXT NOT NULL,         -- JSON, per layer: frequencies, attention factor, ...
  reused_from INTEGER REFERENCES jobs,  -- the job whose state and points are this row's too
  diverged_at_step INTEGER,       -- the loss was not finite from there on; left out of means
  attempt INTEGER NOT NULL DEFAULT 0,  -- number of the last attempt: the fencing token
  failures INTEGER NOT NULL DEFAULT 0,  -- attempts that FAILED
  losses INTEGER NOT NULL DEFAULT 0,  -- attempts LOST in a row without a new checkpoint
  ran_ms INTEGER NOT NULL DEFAULT 0,  -- how long its ended attempts ran
  queued_at TEXT NOT NULL,
  ended_at TEXT,
  error TEXT NOT NULL DEFAULT '',
  UNIQUE (variant_id, seed)
);
CREATE INDEX jobs_by_sweep ON jobs (sweep_id);
CREATE INDEX jobs_by_key ON jobs (key, state) WHERE reused_from IS NULL;
CREATE INDEX jobs_by_origin ON jobs (reused_from) WHERE reused_from IS NOT NULL;

CREATE TABLE workers (            -- an agent process on a machine
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,      -- host/slot, stable over restarts
  incarnation TEXT NOT NULL,      -- new at every start of the process
  version TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL CHECK (state IN ('ACTIVE', 'GONE')),
  slots INTEGER NOT NULL,         -- jobs at a time
  cpus INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  registered_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL      -- to within half a minute while it is ACTIVE
);

CREATE TABLE devices (            -- what a worker computes with
  worker_id INTEGER NOT NULL REFERENCES workers,
  name TEXT NOT NULL,             -- cpu, cuda:0
  kind TEXT NOT NULL,             -- cpu or cuda
  model TEXT NOT NULL DEFAULT '',
  memory_bytes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (worker_id, name)
) WITHOUT ROWID;

CREATE TABLE attempts (           -- one lease of a job to a worker
  job_id INTEGER NOT NULL REFERENCES jobs,
  number INTEGER NOT NULL,        -- grows with each attempt of the job: the fencing token
  worker_id INTEGER NOT NULL REFERENCES workers,
  incarnation TEXT NOT NULL,      -- of the worker's process
  device TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL CHECK (state IN
    ('LEASED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'LOST', 'STOPPED')),
  last_sequence INTEGER NOT NULL DEFAULT 0,  -- batches of points up to this one are in
  started_at TEXT NOT NULL,       -- when it was leased
  ended_at TEXT,
  resumed_from_step INTEGER,      -- of the checkpoint; NULL = from the start
  error TEXT NOT NULL DEFAULT '',
  error_code TEXT NOT NULL DEFAULT '',
  peak_memory_bytes INTEGER,
  tokens_per_second REAL,
  fingerprint TEXT NOT NULL DEFAULT '',  -- JSON: backend, instruction set, threads, libraries
  PRIMARY KEY (job_id, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX one_live_attempt ON attempts (job_id) WHERE state IN ('LEASED', 'RUNNING');

CREATE TABLE points (             -- one value of a curve
  job_id INTEGER NOT NULL REFERENCES jobs,
  metric TEXT NOT NULL,           -- <validation set>/<quantity>, e.g. austen/perplexity; losses in nats
  step INTEGER NOT NULL,          -- optimizer updates done
  tokens INTEGER NOT NULL,        -- tokens seen
  value REAL,                     -- NULL = NaN or infinite
  attempt INTEGER NOT NULL,       -- the latest attempt that reported it
  PRIMARY KEY (job_id, metric, step)
) WITHOUT ROWID;

CREATE TABLE checkpoints (        -- a saved state: objects/HASH
  job_id INTEGER NOT NULL REFERENCES jobs,
  step INTEGER NOT NULL,
  weights_only INTEGER NOT NULL,  -- 1: the trained model; 0: everything from which an attempt goes on
  hash TEXT NOT NULL,
  tokens INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (job_id, step, weights_only)
) WITHOUT ROWID;
CREATE INDEX checkpoints_by_hash ON checkpoints (hash);

CREATE TABLE events (             -- every state change, in order; rows are only ever appended
  id INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  kind TEXT NOT NULL,             -- e.g. job_succeeded, attempt_lost, worker_gone
  sweep_id INTEGER,
  job_id INTEGER,
  attempt INTEGER,
  worker_id INTEGER,
  details TEXT NOT NULL DEFAULT '{}'  -- JSON
);
CREATE INDEX events_by_sweep ON events (sweep_id) WHERE sweep_id IS NOT NULL;

CREATE TABLE datasets (           -- a prepared text
  hash TEXT PRIMARY KEY,          -- of its tokens, document starts and tokenizer
  name TEXT NOT NULL,             -- austen, austen/validation, or the path it came from
  tokens INTEGER NOT NULL,
  documents INTEGER NOT NULL,
  bytes INTEGER NOT NULL,         -- of the text
  vocab_size INTEGER NOT NULL,
  tokenizer TEXT NOT NULL,
  license TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL DEFAULT ''
);

CREATE TABLE models (             -- a pretrained folder that was analysed
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  config TEXT NOT NULL            -- JSON
);

CREATE TABLE frequency_norms (    -- norms of the frequency pairs of one head at one step
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  tensor TEXT NOT NULL CHECK (tensor IN ('q', 'k', 'v')),
  head INTEGER NOT NULL,
  norms TEXT NOT NULL,            -- JSON array over pairs: mean 2-norm over tokens
  norms_without_first TEXT,       -- the same without the first token
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, model_id, step, layer, tensor, head)
);

CREATE TABLE logit_shares (       -- how much each frequency pair adds to the logits of one head
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  contributions TEXT NOT NULL,    -- JSON array over pairs: mean absolute contribution
  shares TEXT NOT NULL,           -- the same as shares of their sum
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, model_id, step, layer, head)
);

CREATE TABLE head_scores (        -- what one head looks at
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  diagonal REAL,                  -- mean attention to the token itself
  previous REAL,                  -- to the token before
  first REAL,                     -- to the first token
  entropy REAL,                   -- nats
  distance REAL,                  -- mean distance in tokens
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, model_id, step, layer, head)
);
)sql";

// A twin or a reused row has no points of its own: coalesce(reused_from, id) names the job that
// has. The square root is Newton's iteration, so that clients built without SQLite's math functions
// read it too.
inline constexpr char kViewsSql[] = R"sql(
CREATE VIEW curves AS             -- every value of every curve
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, v.theta AS theta, v.p AS p,
       v.keep AS keep, v.spacing AS spacing, points.metric AS metric, points.step AS step,
       points.tokens AS tokens, points.value AS value
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id
JOIN points ON points.job_id = coalesce(j.reused_from, j.id);

CREATE VIEW final AS              -- the last point of each metric of each finished job
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, v.theta AS theta, v.p AS p,
       v.keep AS keep, v.spacing AS spacing, last.metric AS metric, last.step AS step,
       points.tokens AS tokens, points.value AS value
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id
JOIN (SELECT job_id, metric, max(step) AS step FROM points GROUP BY job_id, metric) last
  ON last.job_id = coalesce(j.reused_from, j.id)
JOIN points ON points.job_id = last.job_id AND points.metric = last.metric
  AND points.step = last.step
WHERE j.state = 'SUCCEEDED';

CREATE VIEW comparison AS         -- mean and standard deviation over seeds, diverged ones left out
WITH value AS (
  SELECT s.name AS sweep, v.id AS variant_id, v.name AS variant, f.metric AS metric, f.value AS x
  FROM jobs j
  JOIN sweeps s ON s.id = j.sweep_id
  JOIN variants v ON v.id = j.variant_id
  JOIN final f ON f.sweep = s.name AND f.variant = v.name AND f.seed = j.seed
  WHERE j.diverged_at_step IS NULL
), average AS (
  SELECT sweep, variant_id, variant, metric, count(x) AS n, avg(x) AS mean
  FROM value GROUP BY sweep, variant_id, variant, metric
), spread AS (
  SELECT a.sweep AS sweep, a.variant_id AS variant_id, a.variant AS variant, a.metric AS metric,
         a.n AS n, a.mean AS mean,
         sum((x - a.mean) * (x - a.mean)) / nullif(a.n - 1, 0) AS variance
  FROM average a
  JOIN value ON value.variant_id = a.variant_id AND value.metric = a.metric
  GROUP BY a.sweep, a.variant_id, a.variant, a.metric, a.n, a.mean
)
SELECT sweep, variant, metric, n, mean,
       CASE WHEN variance > 0 THEN (
         WITH RECURSIVE newton(i, root) AS (
           SELECT 0, max(variance, 1)
           UNION ALL
           SELECT i + 1, (root + variance / root) / 2 FROM newton WHERE i < 100
         ) SELECT min(root) FROM newton
       ) ELSE variance END AS std
FROM spread
ORDER BY sweep, variant_id, metric;

CREATE VIEW frequencies AS        -- one row per frequency pair of each head
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, n.step AS step, n.layer AS layer,
       n.head AS head, n.tensor AS tensor, pair.key AS pair,
       json_extract(j.rotation, '$[' || n.layer || '].frequencies[' || pair.key || ']')
         AS angular_frequency,
       6.283185307179586 / nullif(json_extract(
         j.rotation, '$[' || n.layer || '].frequencies[' || pair.key || ']'), 0) AS wavelength,
       pair.value AS norm
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id
JOIN frequency_norms n ON n.job_id = coalesce(j.reused_from, j.id)
JOIN json_each(n.norms) pair;

CREATE VIEW failures AS           -- attempts that FAILED or were LOST, with what became of the job
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, j.state AS job_state,
       a.number AS attempt, a.state AS attempt_state, w.name AS worker, a.started_at AS started_at,
       a.ended_at AS ended_at, a.error_code AS error_code, a.error AS error
FROM attempts a
JOIN jobs j ON j.id = a.job_id
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id
JOIN workers w ON w.id = a.worker_id
WHERE a.state IN ('FAILED', 'LOST')
ORDER BY a.ended_at;
)sql";

// Version 2. SQLite keeps a new column's comment only inside its definition.
inline constexpr char kVersion2Sql[] = R"sql(
ALTER TABLE sweeps ADD COLUMN
  pause_reason TEXT /* why it paused itself; empty when its user did it */ NOT NULL DEFAULT '';
ALTER TABLE sweeps ADD COLUMN
  resumed_at TEXT /* last resumed or retried; jobs that failed before do not pause it again */
    NOT NULL DEFAULT '';
ALTER TABLE variants ADD COLUMN
  initial_weights TEXT /* the object that training starts from; empty = none */
    NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN
  memory_failures INTEGER /* attempts that FAILED for want of memory */ NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN
  paused INTEGER /* 1: its user wants it to wait */ NOT NULL DEFAULT 0;
CREATE TABLE database (           -- one row: what tells this file from every other
  id TEXT NOT NULL                -- random; the folder of its jobs' logs is called so
);
INSERT INTO database VALUES (lower(hex(randomblob(8))));
)sql";

}  // namespace gyre
