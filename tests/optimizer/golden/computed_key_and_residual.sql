SELECT t.size, u.size AS other FROM tcp [RANGE 1 MINUTE] AS t JOIN udp [RANGE 1 MINUTE] AS u ON upper(t.host) = upper(u.host) AND t.ts < u.ts WHERE t.size + u.size > 1800
-- duckdb
SELECT t.size, u.size FROM tcp t JOIN udp u ON upper(t.host) = upper(u.host) AND t.ts < u.ts WHERE t.size + u.size > 1800
AND least(t.ts, u.ts) >= greatest(t.ts, u.ts) - INTERVAL 1 MINUTE
