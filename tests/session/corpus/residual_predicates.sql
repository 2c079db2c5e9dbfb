-- Compared where rows are put together, or after: by time, with arithmetic, with NULL, of real numbers.
SELECT s.symbol, s.volume, n.headline, r.score FROM stock [RANGE 10 MINUTES] s, news [RANGE 1 HOUR] n, research [RANGE 2 HOURS] r
WHERE s.sector = n.sector AND r.company_name = s.company_name AND s.ts >= n.ts AND (r.score > 1 OR s.ts < r.ts)
  AND s.price < r.score * 20 AND s.volume + r.score > 1
-- duckdb
SELECT s.symbol, s.volume, n.headline, r.score FROM stock s, news n, research r
WHERE s.sector = n.sector AND r.company_name = s.company_name AND s.ts >= n.ts AND (r.score > 1 OR s.ts < r.ts)
  AND s.price < r.score * 20 AND s.volume + r.score > 1
  AND greatest(s.ts, n.ts, r.ts) - s.ts <= INTERVAL 10 MINUTE AND greatest(s.ts, n.ts, r.ts) - n.ts <= INTERVAL 1 HOUR
  AND greatest(s.ts, n.ts, r.ts) - r.ts <= INTERVAL 2 HOUR
