-- One stream and a table: the window of the stream is the groups'.
-- streams: yes
SELECT s.place, count(*) AS n, sum(l.n) AS total, window_end FROM logs [RANGE 12 MINUTES] l, sites s
WHERE l.host = s.host GROUP BY s.place
-- duckdb
SELECT s.place, count(*) AS n, sum(l.n)::BIGINT AS total,
  make_timestamp(epoch_us(l.ts) // 720000000 * 720000000 + 720000000) AS window_end
FROM logs l, sites s WHERE l.host = s.host AND l.ts IS NOT NULL GROUP BY s.place, epoch_us(l.ts) // 720000000
