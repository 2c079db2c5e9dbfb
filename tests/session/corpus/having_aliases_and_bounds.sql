SELECT upper(sector) AS loud, count(*) AS n, sum(volume) + count(*) AS both, window_end FROM stock GROUP BY loud, TUMBLE(90 MINUTES)
HAVING n > 2 AND window_start >= '2026-01-01 01:30:00'
-- duckdb
SELECT upper(sector) AS loud, count(*) AS n, (sum(volume) + count(*))::BIGINT AS both,
  make_timestamp(epoch_us(ts) // 5400000000 * 5400000000 + 5400000000) AS window_end
FROM stock GROUP BY upper(sector), epoch_us(ts) // 5400000000
HAVING count(*) > 2 AND epoch_us(ts) // 5400000000 * 5400000000 >= epoch_us(TIMESTAMP '2026-01-01 01:30:00')
