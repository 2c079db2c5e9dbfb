SELECT 1 + 2 AS three, 'a' || 'b' AS ab, id, NULL AS nothing, CAST(NULL AS INT) AS no_number, 2 > 1 AS yes FROM logs
WHERE 1 = 1 AND (n > 2 OR 1 > 2) AND TRUE
-- duckdb
SELECT 1 + 2 AS three, 'ab' AS ab, id, NULL AS nothing, CAST(NULL AS INT) AS no_number, TRUE AS yes FROM logs WHERE n > 2
