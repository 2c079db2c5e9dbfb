SELECT s.sector, n.sector AS other FROM stock s, news n WHERE upper(s.sector) = upper(n.sector) WINDOW 10 MINUTES
-- duckdb
SELECT s.sector, n.sector AS other FROM stock s, news n WHERE upper(s.sector) = upper(n.sector)
  AND greatest(s.ts, n.ts) - s.ts <= INTERVAL 10 MINUTE AND greatest(s.ts, n.ts) - n.ts <= INTERVAL 10 MINUTE
