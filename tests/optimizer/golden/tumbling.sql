SELECT window_start, host, count(*) AS n, avg(size) AS mean, max(port) AS top FROM tcp [RANGE 1 MINUTE] WHERE port <> 0 GROUP BY host HAVING count(*) > 1
-- duckdb
SELECT date_trunc('minute', ts), host, count(*), avg(size), max(port) FROM tcp WHERE port <> 0 GROUP BY ALL HAVING count(*) > 1
