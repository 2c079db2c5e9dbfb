-- statistics {"tcp": {"rows_per_second": 50, "distinct": {"host": 7}}, "udp": {"rows_per_second": 5}, "hosts": {"rows": 9, "distinct": {"host": 7}}}
SELECT t.size, h.kind FROM hosts AS h, tcp [RANGE 5 SECONDS] AS t, udp [RANGE 5 SECONDS] AS u WHERE t.host = u.host AND h.host = u.host
-- duckdb
SELECT t.size, h.kind FROM hosts h, tcp t, udp u WHERE t.host = u.host AND h.host = u.host
AND least(t.ts, u.ts) >= greatest(t.ts, u.ts) - INTERVAL 5 SECONDS
