-- om, table 2: bytes of packets that four routers have seen.
SELECT sum(r1.size) AS bytes FROM r1 [RANGE 10 MINUTES], r2 [RANGE 10 MINUTES], r3 [RANGE 10 MINUTES], r4 [RANGE 10 MINUTES]
WHERE r1.pid = r2.pid AND r1.pid = r3.pid AND r1.pid = r4.pid GROUP BY TUMBLE(1 MINUTE);
-- duckdb
SELECT sum(size)::BIGINT AS bytes FROM (
  SELECT r1.size, greatest(r1.ts, r2.ts, r3.ts, r4.ts) AS t, r1.ts AS t1, r2.ts AS t2, r3.ts AS t3, r4.ts AS t4
  FROM r1, r2, r3, r4 WHERE r1.pid = r2.pid AND r1.pid = r3.pid AND r1.pid = r4.pid)
WHERE t - t1 <= INTERVAL 10 MINUTE AND t - t2 <= INTERVAL 10 MINUTE AND t - t3 <= INTERVAL 10 MINUTE
  AND t - t4 <= INTERVAL 10 MINUTE
GROUP BY epoch_us(t) // 60000000
