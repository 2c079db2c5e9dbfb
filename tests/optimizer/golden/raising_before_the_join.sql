SELECT t.size FROM tcp [RANGE 9 SECONDS] AS t, dns [RANGE 9 SECONDS] AS d WHERE t.port = d.port AND d.port <> 0 AND 3000 DIV t.port > 50
-- duckdb
SELECT t.size FROM tcp t, dns d WHERE t.port = d.port AND t.port <> 0 AND 3000 // nullif(t.port, 0) > 50
AND least(t.ts, d.ts) >= greatest(t.ts, d.ts) - INTERVAL 9 SECONDS
