SELECT t.size, u.size AS other FROM tcp [RANGE 30 SECONDS] AS t, udp [RANGE 10 SECONDS] AS u WHERE t.host = u.host AND t.size > 900
-- duckdb
SELECT t.size, u.size FROM tcp t, udp u WHERE t.host = u.host AND t.size > 900
AND t.ts >= greatest(t.ts, u.ts) - INTERVAL 30 SECONDS AND u.ts >= greatest(t.ts, u.ts) - INTERVAL 10 SECONDS
