SELECT t.size, h.kind FROM tcp AS t JOIN hosts AS h ON t.host = h.host WHERE h.kind <> 'robot' AND t.size > 700
-- duckdb
SELECT t.size, h.kind FROM tcp AS t JOIN hosts AS h ON t.host = h.host WHERE h.kind <> 'robot' AND t.size > 700
