#pragma once

// Version 5 of the schema: pretrained models that were analysed, and views that show them beside
// the jobs of sweeps. As in schema_sql.h, the comments stay in the file.

namespace gyre {

// SQLite keeps a new column's comment only inside its definition. No program before this version
// has written a row of models.
inline constexpr char kModelsSql[] = R"sql(
ALTER TABLE models ADD COLUMN
  name TEXT /* stands for a sweep's name in views and plots */ NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN
  variant TEXT /* stands for a variant's: which text it was */ NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN
  weights TEXT /* hash of configuration and weights; hash is of these, text and names */
    NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN
  rotation TEXT /* JSON, as in jobs */ NOT NULL DEFAULT '[]';
ALTER TABLE models ADD COLUMN
  text TEXT /* the file that was read */ NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN
  text_hash TEXT /* of the file's bytes */ NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN
  context INTEGER /* tokens of a window */;
ALTER TABLE models ADD COLUMN
  windows INTEGER /* of the text that were looked at */;
ALTER TABLE models ADD COLUMN
  tokens INTEGER /* in all of them */;
ALTER TABLE models ADD COLUMN
  loss REAL /* mean over those tokens, in nats */;
ALTER TABLE models ADD COLUMN
  analysed_at TEXT /* UTC, ISO 8601 with milliseconds */ NOT NULL DEFAULT '';
CREATE UNIQUE INDEX models_by_name ON models (name, variant) WHERE name <> '';

CREATE TABLE alignments (         -- logits of a head's first tokens, and what bounds them
  model_id INTEGER NOT NULL REFERENCES models,
  layer INTEGER NOT NULL,
  head INTEGER NOT NULL,
  bounds TEXT NOT NULL,           -- JSON array over tokens: norm of query times norm of key, scaled
  own TEXT NOT NULL,              -- logit of the token itself, without ALiBi and before a softcap
  previous TEXT NOT NULL,         -- of the token before; null for the first
  PRIMARY KEY (model_id, layer, head)
) WITHOUT ROWID;
)sql";

inline constexpr char kModelViewsSql[] = R"sql(
DROP VIEW frequencies;
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
  json_extract(j.rotation, '$[' || n.layer || '].frequencies'))) pair
UNION ALL                         -- models that were analysed have no seed
SELECT m.name, m.variant, NULL, n.step, n.tokens, n.layer, n.head, n.tensor, pair.key, pair.value,
       6.283185307179586 / nullif(pair.value, 0), pair.value * m.context / 6.283185307179586,
       json_extract(n.norms, '$[' || pair.key || ']'),
       json_extract(n.norms_without_first, '$[' || pair.key || ']')
FROM models m
JOIN frequency_norms n ON n.model_id = m.id
JOIN json_each(json_extract(m.rotation, '$[' || n.layer || '].frequencies')) pair;

DROP VIEW contributions;
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
  json_extract(j.rotation, '$[' || n.layer || '].frequencies'))) pair
UNION ALL
SELECT m.name, m.variant, NULL, n.step, n.tokens, n.layer, n.head, pair.key, pair.value,
       6.283185307179586 / nullif(pair.value, 0), pair.value * m.context / 6.283185307179586,
       json_extract(n.contributions, '$[' || pair.key || ']'),
       json_extract(n.shares, '$[' || pair.key || ']'),
       json_extract(n.first, '$[' || pair.key || ']'),
       json_extract(n.others, '$[' || pair.key || ']')
FROM models m
JOIN logit_shares n ON n.model_id = m.id
JOIN json_each(json_extract(m.rotation, '$[' || n.layer || '].frequencies')) pair;

DROP VIEW head_census;
CREATE VIEW head_census AS        -- one row per head: its scores, and what kind it is
-- kind: positional where max(diagonal, previous) >= 0.4 and >= first; else first-token where
-- first >= 0.4; else semantic, that is: neither
SELECT sweep, variant, seed, step, tokens, layer, head, diagonal, previous, first, entropy, distance,
       CASE WHEN diagonal IS NULL OR previous IS NULL OR first IS NULL THEN NULL
            WHEN max(diagonal, previous) >= max(0.4, first) THEN 'positional'
            WHEN first >= 0.4 THEN 'first-token'
            ELSE 'semantic' END AS kind
FROM (
  SELECT s.name AS sweep, v.name AS variant, j.seed AS seed, n.step AS step, n.tokens AS tokens,
         n.layer AS layer, n.head AS head, n.diagonal AS diagonal, n.previous AS previous,
         n.first AS first, n.entropy AS entropy, n.distance AS distance
  FROM jobs j
  JOIN sweeps s ON s.id = j.sweep_id
  JOIN variants v ON v.id = j.variant_id AND v.sweep_id = s.id
  JOIN head_scores n ON n.job_id = coalesce(j.reused_from, j.id)
  UNION ALL
  SELECT m.name, m.variant, NULL, n.step, n.tokens, n.layer, n.head, n.diagonal, n.previous,
         n.first, n.entropy, n.distance
  FROM models m
  JOIN head_scores n ON n.model_id = m.id
);
)sql";

}  // namespace gyre
