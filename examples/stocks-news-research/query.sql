SELECT s.company_name, s.symbol, s.price
FROM stock AS s, news [RANGE 1 HOUR] AS n, research [RANGE 3 HOURS] AS r
WHERE matches(s.data) AND s.sector = n.sector AND s.company_name = r.company_name
WINDOW 60 SECONDS;
