SELECT s.symbol, n.headline FROM stock s, news n
WHERE s.sector = n.sector AND matches(concat(s.data, n.headline)) AND robotic(n.headline, s.price > 1) WINDOW 15 MINUTES
-- duckdb
SELECT s.symbol, n.headline FROM stock s, news n
WHERE s.sector = n.sector AND (s.data || n.headline) LIKE 'bull%'
  AND (coalesce(s.price > 1, FALSE) OR coalesce(lower(n.headline) LIKE 'robot%', FALSE))
  AND greatest(s.ts, n.ts) - s.ts <= INTERVAL 15 MINUTE AND greatest(s.ts, n.ts) - n.ts <= INTERVAL 15 MINUTE
