SELECT * FROM logs
-- duckdb
SELECT * FROM logs
