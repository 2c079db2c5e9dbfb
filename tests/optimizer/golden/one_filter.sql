SELECT host, size * 8 AS bits FROM tcp WHERE size > 500 + 500
-- duckdb
SELECT host, size * 8 FROM tcp WHERE size > 1000
