SELECT count(*) AS rows, sum(bytes) AS bytes, window_start, window_end FROM tcp GROUP BY TUMBLE(7 SECONDS)
-- duckdb
SELECT count(*) AS rows, sum(bytes)::BIGINT AS bytes, make_timestamp(epoch_us(ts) // 7000000 * 7000000) AS window_start,
  make_timestamp(epoch_us(ts) // 7000000 * 7000000 + 7000000) AS window_end
FROM tcp GROUP BY epoch_us(ts) // 7000000
