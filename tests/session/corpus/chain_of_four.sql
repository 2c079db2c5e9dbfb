SELECT r1.pid AS p, r2.size AS s2, r3.pid AS q, r4.ts AS t4
FROM r1 [RANGE 2 MINUTES] JOIN r2 [RANGE 2 MINUTES] ON r1.pid = r2.pid JOIN r3 [RANGE 3 MINUTES] ON r2.size = r3.size
  JOIN r4 [RANGE 4 MINUTES] ON r3.pid = r4.pid
-- duckdb
SELECT p, s2, q, t4 FROM (
  SELECT r1.pid AS p, r2.size AS s2, r3.pid AS q, r4.ts AS t4, greatest(r1.ts, r2.ts, r3.ts, r4.ts) AS t, r1.ts AS t1,
    r2.ts AS t2, r3.ts AS t3
  FROM r1 JOIN r2 ON r1.pid = r2.pid JOIN r3 ON r2.size = r3.size JOIN r4 ON r3.pid = r4.pid)
WHERE t - t1 <= INTERVAL 2 MINUTE AND t - t2 <= INTERVAL 2 MINUTE AND t - t3 <= INTERVAL 3 MINUTE
  AND t - t4 <= INTERVAL 4 MINUTE
