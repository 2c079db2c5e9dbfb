SELECT host FROM tcp WHERE size > 1000 AND port = 22 AND size < 500
-- duckdb
SELECT host FROM tcp WHERE FALSE
