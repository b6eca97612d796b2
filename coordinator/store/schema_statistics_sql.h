#pragma once

// Version 3 of the schema: what is measured of a model's attention during training, and the losses
// of single documents. As in schema_sql.h, the comments stay in the file.

namespace gyre {

// SQLite holds NULLs for different in UNIQUE, so of the two constraints each binds the rows that it
// is about. Rows of older versions keep their values; the last of any two that are alike stays.
inline constexpr char kStatisticsTablesSql[] = R"sql(
DROP VIEW frequencies;
ALTER TABLE frequency_norms RENAME TO old_frequency_norms;
ALTER TABLE logit_shares RENAME TO old_logit_shares;
ALTER TABLE head_scores RENAME TO old_head_scores;

CREATE TABLE frequency_norms (    -- norms of the frequency pairs of one head at one step
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,          -- optimizer updates done
  tokens INTEGER,                 -- tokens seen by then
  layer INTEGER NOT NULL,         -- layers, heads and pairs count from 0
  tensor TEXT NOT NULL CHECK (tensor IN ('q', 'k', 'v')),
  head INTEGER NOT NULL,          -- of k and v: key-value head
  norms TEXT NOT NULL,            -- JSON array over pairs: mean 2-norm over tokens, before rotation
  norms_without_first TEXT,       -- the same without the first token of each window
  attempt INTEGER,                -- the latest attempt that reported it
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, step, layer, tensor, head),
  UNIQUE (model_id, step, layer, tensor, head)
);
INSERT OR REPLACE INTO frequency_norms
  (job_id, model_id, step, layer, tensor, head, norms, norms_without_first)
SELECT job_id, model_id, step, layer, tensor, head, norms, norms_without_first
FROM old_frequency_norms ORDER BY rowid;

CREATE TABLE logit_shares (       -- how much each frequency pair adds to the logits of one head
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,
  tokens INTEGER,                 -- tokens seen by then
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  contributions TEXT NOT NULL,    -- JSON array over pairs: mean absolute contribution to a logit
  shares TEXT NOT NULL,           -- the same as shares of their sum
  first TEXT,                     -- the part of contributions that keys at the first token have
  others TEXT,                    -- and all other keys: first + others = contributions
  attempt INTEGER,                -- the latest attempt that reported it
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, step, layer, head),
  UNIQUE (model_id, step, layer, head)
);
INSERT OR REPLACE INTO logit_shares
  (job_id, model_id, step, layer, head, contributions, shares)
SELECT job_id, model_id, step, layer, head, contributions, shares
FROM old_logit_shares ORDER BY rowid;

CREATE TABLE head_scores (        -- what one head looks at: means over queries of its attention
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,
  tokens INTEGER,                 -- tokens seen by then
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  diagonal REAL,                  -- to the token itself
  previous REAL,                  -- to the token before
  first REAL,                     -- to the first token
  entropy REAL,                   -- nats
  distance REAL,                  -- mean distance in tokens
  attempt INTEGER,                -- the latest attempt that reported it
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, step, layer, head),
  UNIQUE (model_id, step, layer, head)
);
INSERT OR REPLACE INTO head_scores
  (job_id, model_id, step, layer, head, diagonal, previous, first, entropy, distance)
SELECT job_id, model_id, step, layer, head, diagonal, previous, first, entropy, distance
FROM old_head_scores ORDER BY rowid;

DROP TABLE old_frequency_norms;
DROP TABLE old_logit_shares;
DROP TABLE old_head_scores;

CREATE TABLE token_norms (        -- frequency_norms of single tokens: the first ones of a window
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,
  tokens INTEGER,                 -- tokens seen by then
  layer INTEGER NOT NULL,
  tensor TEXT NOT NULL CHECK (tensor IN ('q', 'k', 'v')),
  head INTEGER NOT NULL,          -- of k and v: key-value head
  norms TEXT NOT NULL,            -- JSON array over tokens of arrays over pairs: 2-norm
  attempt INTEGER,                -- the latest attempt that reported it
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, step, layer, tensor, head),
  UNIQUE (model_id, step, layer, tensor, head)
);

CREATE TABLE attention_maps (     -- attention among the first tokens of one window
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  step INTEGER NOT NULL,
  tokens INTEGER,                 -- tokens seen by then
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  weights TEXT NOT NULL,          -- JSON array over queries of arrays over keys
  attempt INTEGER,                -- the latest attempt that reported it
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, step, layer, head),
  UNIQUE (model_id, step, layer, head)
);

CREATE TABLE document_losses (    -- the losses of a validation set's documents, one by one
  job_id INTEGER REFERENCES jobs,
  model_id INTEGER REFERENCES models,  -- instead of job_id
  validation_set TEXT NOT NULL,   -- as in the metrics' names
  step INTEGER NOT NULL,
  tokens INTEGER,                 -- tokens seen by then
  targets TEXT NOT NULL,          -- JSON array over documents, or groups of neighbours: predictions
  nats TEXT NOT NULL,             -- JSON array over the same: sum of the losses
  attempt INTEGER,                -- the latest attempt that reported it
  CHECK ((job_id IS NULL) <> (model_id IS NULL)),
  UNIQUE (job_id, validation_set, step),
  UNIQUE (model_id, validation_set, step)
);
)sql";

// They say what they said in version 1, in ways that do not take the square of a sweep's jobs: that
// a variant is of its job's sweep lets SQLite find it by its name, and comparison joins no names.
inline constexpr char kCurveViewsSql[] = R"sql(
DROP VIEW curves;
CREATE VIEW curves AS             -- every value of every curve
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, v.theta AS theta, v.p AS p,
       v.keep AS keep, v.spacing AS spacing, points.metric AS metric, points.step AS step,
       points.tokens AS tokens, points.value AS value
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
JOIN points ON points.job_id = coalesce(j.reused_from, j.id);

DROP VIEW final;
CREATE VIEW final AS              -- the last point of each metric of each finished job
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, v.theta AS theta, v.p AS p,
       v.keep AS keep, v.spacing AS spacing, points.metric AS metric, points.step AS step,
       points.tokens AS tokens, points.value AS value
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
JOIN points ON points.job_id = coalesce(j.reused_from, j.id)
WHERE j.state = 'SUCCEEDED'
  AND points.step = (SELECT max(step) FROM points last WHERE last.job_id = points.job_id
                     AND last.metric = points.metric);

DROP VIEW comparison;
CREATE VIEW comparison AS         -- mean and standard deviation over seeds, diverged ones left out
WITH value AS (
  SELECT s.name AS sweep, v.id AS variant_id, v.name AS variant, points.metric AS metric,
         points.value AS x
  FROM jobs j
  JOIN sweeps s ON s.id = j.sweep_id
  JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
  JOIN points ON points.job_id = coalesce(j.reused_from, j.id)
  WHERE j.state = 'SUCCEEDED' AND j.diverged_at_step IS NULL
    AND points.step = (SELECT max(step) FROM points last WHERE last.job_id = points.job_id
                       AND last.metric = points.metric)
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
)sql";

// The frequencies in force at a step are those of the last switch that its tokens have reached;
// being an argument of json_each, they are found once a head and not once a pair.
inline constexpr char kStatisticsViewsSql[] = R"sql(
CREATE VIEW frequencies AS        -- one row per frequency pair of each head: norms
-- turns: what the pair turns by within the context; below 1 it never completes a turn
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, n.step AS step, n.tokens AS tokens,
       n.layer AS layer, n.head AS head, n.tensor AS tensor, pair.key AS pair,
       pair.value AS angular_frequency, 6.283185307179586 / nullif(pair.value, 0) AS wavelength,
       pair.value * json_extract(v.config, '$.data.context') / 6.283185307179586 AS turns,
       json_extract(n.norms, '$[' || pair.key || ']') AS norm,
       json_extract(n.norms_without_first, '$[' || pair.key || ']') AS norm_without_first
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
JOIN frequency_norms n ON n.job_id = coalesce(j.reused_from, j.id)
JOIN json_each(coalesce(
  (SELECT json_extract(change.value, '$.frequencies')
   FROM json_each(j.rotation, '$[' || n.layer || '].switches') change
   WHERE json_extract(change.value, '$.at') <= n.tokens ORDER BY change.key DESC LIMIT 1),
  json_extract(j.rotation, '$[' || n.layer || '].frequencies'))) pair;

CREATE VIEW contributions AS      -- one row per frequency pair of each head: its part of the logits
-- first, others: the part of contribution that keys at the first token, and all others, have
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, n.step AS step, n.tokens AS tokens,
       n.layer AS layer, n.head AS head, pair.key AS pair,
       pair.value AS angular_frequency, 6.283185307179586 / nullif(pair.value, 0) AS wavelength,
       pair.value * json_extract(v.config, '$.data.context') / 6.283185307179586 AS turns,
       json_extract(n.contributions, '$[' || pair.key || ']') AS contribution,
       json_extract(n.shares, '$[' || pair.key || ']') AS share,
       json_extract(n.first, '$[' || pair.key || ']') AS first,
       json_extract(n.others, '$[' || pair.key || ']') AS others
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
JOIN logit_shares n ON n.job_id = coalesce(j.reused_from, j.id)
JOIN json_each(coalesce(
  (SELECT json_extract(change.value, '$.frequencies')
   FROM json_each(j.rotation, '$[' || n.layer || '].switches') change
   WHERE json_extract(change.value, '$.at') <= n.tokens ORDER BY change.key DESC LIMIT 1),
  json_extract(j.rotation, '$[' || n.layer || '].frequencies'))) pair;

CREATE VIEW head_census AS        -- one row per head: its scores, and what kind it is
-- kind: positional where max(diagonal, previous) >= 0.4 and >= first; else first-token where
-- first >= 0.4; else semantic, that is: neither
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, n.step AS step, n.tokens AS tokens,
       n.layer AS layer, n.head AS head, n.diagonal AS diagonal, n.previous AS previous,
       n.first AS first, n.entropy AS entropy, n.distance AS distance,
       CASE WHEN n.diagonal IS NULL OR n.previous IS NULL OR n.first IS NULL THEN NULL
            WHEN max(n.diagonal, n.previous) >= max(0.4, n.first) THEN 'positional'
            WHEN n.first >= 0.4 THEN 'first-token'
            ELSE 'semantic' END AS kind
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
JOIN head_scores n ON n.job_id = coalesce(j.reused_from, j.id);

CREATE VIEW documents AS          -- one row per document (or group of neighbours) and loss
SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, n.validation_set AS validation_set,
       n.step AS step, n.tokens AS tokens, document.key AS document, document.value AS targets,
       json_extract(n.nats, '$[' || document.key || ']') AS nats
FROM jobs j
JOIN sweeps s ON s.id = j.sweep_id
JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
JOIN document_losses n ON n.job_id = coalesce(j.reused_from, j.id)
JOIN json_each(n.targets) document;
)sql";

}  // namespace gyre
