SELECT r1.pid, r2.size AS s2, r3.size AS s3, r4.size AS s4, r.size AS s
FROM r1 [RANGE 5 MINUTES], r2, r3, r4, r1 AS r
WHERE r1.pid = r2.pid AND r1.pid = r3.pid AND r1.pid = r4.pid AND r.pid = r1.pid WINDOW 8 MINUTES
-- duckdb
SELECT pid, s2, s3, s4, s FROM (
  SELECT r1.pid, r2.size AS s2, r3.size AS s3, r4.size AS s4, r.size AS s, r1.ts AS t1, r2.ts AS t2, r3.ts AS t3,
    r4.ts AS t4, r.ts AS t5, greatest(r1.ts, r2.ts, r3.ts, r4.ts, r.ts) AS t
  FROM r1, r2, r3, r4, r1 AS r WHERE r1.pid = r2.pid AND r1.pid = r3.pid AND r1.pid = r4.pid AND r.pid = r1.pid)
WHERE t - t1 <= INTERVAL 5 MINUTE AND t - t2 <= INTERVAL 8 MINUTE AND t - t3 <= INTERVAL 8 MINUTE
  AND t - t4 <= INTERVAL 8 MINUTE AND t - t5 <= INTERVAL 8 MINUTE
