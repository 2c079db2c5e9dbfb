SELECT id, Name FROM logs WHERE Name LIKE '%!%%' ESCAPE '!' OR Name LIKE 'a_b%' OR Name LIKE '_' OR Name LIKE 'line%break'
-- duckdb
SELECT id, Name FROM logs WHERE contains(Name, '%') OR Name LIKE 'a_b%' OR Name LIKE '_' OR Name LIKE 'line%break'
