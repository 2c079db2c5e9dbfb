-- Query-mesh, section 1.1: stock, news and research of one company within their windows.
-- streams: yes
SELECT s.company_name, s.symbol, s.price FROM stock AS s, news [RANGE 1 HOUR] AS n, research [RANGE 3 HOURS] AS r
WHERE matches(s.data) AND s.sector = n.sector AND s.company_name = r.company_name WINDOW 60 SECONDS;
-- duckdb
SELECT s.company_name, s.symbol, s.price FROM stock AS s, news AS n, research AS r
WHERE s.data LIKE 'bull%' AND s.sector = n.sector AND s.company_name = r.company_name
  AND greatest(s.ts, n.ts, r.ts) - s.ts <= INTERVAL 60 SECOND AND greatest(s.ts, n.ts, r.ts) - n.ts <= INTERVAL 1 HOUR
  AND greatest(s.ts, n.ts, r.ts) - r.ts <= INTERVAL 3 HOUR
