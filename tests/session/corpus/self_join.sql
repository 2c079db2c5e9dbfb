SELECT a.id AS one, b.id AS other, a.Name FROM logs [RANGE 30 SECONDS] AS a, logs [RANGE 1 MINUTE] AS b
WHERE a.Name = b.Name AND a.id < b.id
-- duckdb
SELECT a.id AS one, b.id AS other, a.Name FROM logs a, logs b
WHERE a.Name = b.Name AND a.id < b.id AND a.ts IS NOT NULL AND b.ts IS NOT NULL
  AND greatest(a.ts, b.ts) - a.ts <= INTERVAL 30 SECOND AND greatest(a.ts, b.ts) - b.ts <= INTERVAL 1 MINUTE
