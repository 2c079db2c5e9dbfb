SELECT id, Name RLIKE '[0-9]+' AS digits FROM logs WHERE Name RLIKE '^[a-zA-Z]' AND NOT Name RLIKE 'x$'
-- duckdb
SELECT id, regexp_matches(Name, '[0-9]+') AS digits FROM logs
WHERE regexp_matches(Name, '^[a-zA-Z]') AND NOT regexp_matches(Name, 'x$')
