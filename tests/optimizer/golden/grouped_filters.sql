SELECT host FROM tcp WHERE size > 100 AND port <> 22 AND size < 1000 AND size > 200 AND host LIKE 'h%' AND 1 = 1
-- duckdb
SELECT host FROM tcp WHERE size > 200 AND size < 1000 AND port <> 22 AND host LIKE 'h%'
