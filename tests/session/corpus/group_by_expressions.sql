SELECT hour(ts) AS h, n % 3 AS rest, avg(x) AS mean, count(*) * 2 AS doubled FROM logs [RANGE 1 HOUR]
WHERE x < 1e9 GROUP BY hour(ts), n % 3
-- duckdb
SELECT hour(ts)::INT AS h, n % 3 AS rest, avg(x) AS mean, count(*) * 2 AS doubled FROM logs
WHERE x < 1e9 AND ts IS NOT NULL GROUP BY hour(ts), n % 3, epoch_us(ts) // 3600000000
