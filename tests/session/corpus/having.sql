SELECT sector, symbol, count(*) AS n, avg(volume) AS mean, window_start FROM stock [RANGE 1 HOUR]
WHERE volume < 1000 GROUP BY sector, symbol HAVING count(*) > 1 AND max(price) > 0 AND sum(volume) >= 1
-- duckdb
SELECT sector, symbol, count(*) AS n, avg(volume) AS mean,
  make_timestamp(epoch_us(ts) // 3600000000 * 3600000000) AS window_start
FROM stock WHERE volume < 1000 GROUP BY sector, symbol, epoch_us(ts) // 3600000000
HAVING count(*) > 1 AND max(price) > 0 AND sum(volume) >= 1
