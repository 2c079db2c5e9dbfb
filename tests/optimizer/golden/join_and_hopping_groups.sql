-- statistics {"tcp": {"rows_per_second": 2, "distinct": {"host": 7}}, "udp": {"rows_per_second": 1, "distinct": {"host": 7}}}
SELECT t.host, window_end, sum(t.size) AS bytes FROM tcp [RANGE 10 SECONDS] AS t, udp [RANGE 10 SECONDS] AS u WHERE t.host = u.host AND u.size > 300 GROUP BY t.host, HOP(2 MINUTES, 1 MINUTE)
-- duckdb
WITH joined AS (SELECT t.host, t.size, greatest(t.ts, u.ts) AS moment FROM tcp t, udp u WHERE t.host = u.host AND u.size > 300
AND least(t.ts, u.ts) >= greatest(t.ts, u.ts) - INTERVAL 10 SECONDS)
SELECT host, date_trunc('minute', moment) + k * INTERVAL 1 MINUTE AS e, CAST(sum(size) AS BIGINT) FROM joined, (VALUES (1), (2)) AS v(k) GROUP BY ALL
