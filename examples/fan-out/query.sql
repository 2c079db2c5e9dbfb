SELECT q.ts, q.url, l.address
FROM requests [RANGE 1 MINUTE] AS q, logins [RANGE 1 MINUTE] AS l, reports [RANGE 1 MINUTE] AS r
WHERE q.server = l.server AND l.address = r.address;
