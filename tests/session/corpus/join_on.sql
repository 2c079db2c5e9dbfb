SELECT s.symbol, n.headline, s.ts AS sold, n.ts AS told
FROM stock [RANGE 2 MINUTES] AS s JOIN news [RANGE 30 MINUTES] AS n ON s.sector = n.sector
WHERE s.price > 0 AND n.headline IS NOT NULL
-- duckdb
SELECT s.symbol, n.headline, s.ts AS sold, n.ts AS told FROM stock s JOIN news n ON s.sector = n.sector
WHERE s.price > 0 AND n.headline IS NOT NULL AND greatest(s.ts, n.ts) - s.ts <= INTERVAL 2 MINUTE
  AND greatest(s.ts, n.ts) - n.ts <= INTERVAL 30 MINUTE
