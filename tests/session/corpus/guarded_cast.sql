SELECT id, Name FROM logs WHERE Name RLIKE '^[0-9]+$' AND CAST(Name AS INT) > 10
-- duckdb
SELECT id, Name FROM logs WHERE TRY_CAST(Name AS INT) > 10
