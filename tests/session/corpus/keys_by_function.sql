SELECT s.symbol, n.headline FROM stock s, news n WHERE matches(s.data) = matches(n.headline) AND s.sector = n.sector
WINDOW 5 MINUTES
-- duckdb
SELECT s.symbol, n.headline FROM stock s, news n
WHERE s.data LIKE 'bull%' = (n.headline LIKE 'bull%') AND s.sector = n.sector
  AND greatest(s.ts, n.ts) - s.ts <= INTERVAL 5 MINUTE AND greatest(s.ts, n.ts) - n.ts <= INTERVAL 5 MINUTE
