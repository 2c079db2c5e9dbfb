SELECT l.*, s.place FROM logs l, sites s WHERE l.host = s.host
-- duckdb
SELECT l.*, s.place FROM logs l, sites s WHERE l.host = s.host AND l.ts IS NOT NULL
