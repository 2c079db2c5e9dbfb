SELECT id, n BETWEEN 2 AND 7 AS some, n NOT BETWEEN 2 AND 7 AS others, n IN (1, 2, NULL) AS listed, n NOT IN (1, 2) AS unlisted,
  Name LIKE '%o%' AS o, Name NOT LIKE 'a%' AS no_a
FROM logs WHERE n BETWEEN -1 AND 10 AND (Name LIKE '%a%' OR Name IN ('42', 'B', '')) AND host NOT IN (4, -1)
-- duckdb
SELECT id, n BETWEEN 2 AND 7 AS some, n NOT BETWEEN 2 AND 7 AS others, n IN (1, 2, NULL) AS listed, n NOT IN (1, 2) AS unlisted,
  Name LIKE '%o%' AS o, Name NOT LIKE 'a%' AS no_a
FROM logs WHERE n BETWEEN -1 AND 10 AND (Name LIKE '%a%' OR Name IN ('42', 'B', '')) AND host NOT IN (4, -1)
