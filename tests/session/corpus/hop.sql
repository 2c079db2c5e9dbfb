SELECT symbol, count(*) AS n, max(price) AS most, window_start FROM stock WHERE price IS NOT NULL
GROUP BY symbol, HOP(1 HOUR, 20 MINUTES)
-- duckdb
SELECT symbol, count(*) AS n, max(price) AS most, make_timestamp(w) AS window_start FROM (
  SELECT *, unnest(range(epoch_us(ts) // 1200000000 * 1200000000, epoch_us(ts) - 3600000000, -1200000000)) AS w FROM stock
  WHERE price IS NOT NULL)
GROUP BY symbol, w
