-- What has no name is called as it is written.
SELECT id + 1, lower(Name), 'x', TRUE, ts FROM logs
-- duckdb
SELECT id + 1 AS "logs.id + 1", lower(Name) AS "lower(logs.Name)", 'x' AS "'x'", TRUE AS "TRUE", ts FROM logs
