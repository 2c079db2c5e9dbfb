SELECT l.id, s.place, p.w, upper(p.p) AS p FROM logs l, sites s, patterns p
WHERE l.host = s.host AND lower(l.Name) = p.p AND s.weight < p.w
-- duckdb
SELECT l.id, s.place, p.w, upper(p.p) AS p FROM logs l, sites s, patterns p
WHERE l.host = s.host AND lower(l.Name) = p.p AND s.weight < p.w AND l.ts IS NOT NULL
