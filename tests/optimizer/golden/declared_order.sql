-- statistics {"tcp": {"rows_per_second": 50, "distinct": {"host": 7}}, "udp": {"rows_per_second": 5, "distinct": {"host": 7, "port": 4}}, "dns": {"rows_per_second": 1, "distinct": {"port": 4}}}
SELECT t.size, d.size AS asked FROM tcp AS t, udp AS u, dns AS d WHERE t.host = u.host AND u.port = d.port WINDOW 20 SECONDS
-- duckdb
SELECT t.size, d.size FROM tcp t, udp u, dns d WHERE t.host = u.host AND u.port = d.port
AND least(t.ts, u.ts, d.ts) >= greatest(t.ts, u.ts, d.ts) - INTERVAL 20 SECONDS
