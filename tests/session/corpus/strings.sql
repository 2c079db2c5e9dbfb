SELECT id, upper(Name) AS u, lower(Name) AS l, trim(Name) AS t, length(Name) AS n, substring(Name, 2, 3) AS s,
  replace(Name, 'a', 'oo') AS r, concat(Name, '-', CAST(id AS STRING)) AS c, Name || '!' AS d, instr(Name, 'b') AS i,
  startswith(Name, 'a') AS st, endswith(Name, 'k') AS en, contains(Name, 'o') AS co
FROM logs WHERE length(Name) > 0 AND Name <> 'Straße'
-- duckdb
SELECT id, upper(Name) AS u, lower(Name) AS l, trim(Name) AS t, length(Name)::INT AS n, substring(Name, 2, 3) AS s,
  replace(Name, 'a', 'oo') AS r, Name || '-' || CAST(id AS VARCHAR) AS c, Name || '!' AS d, instr(Name, 'b')::INT AS i,
  starts_with(Name, 'a') AS st, suffix(Name, 'k') AS en, contains(Name, 'o') AS co
FROM logs WHERE length(Name) > 0 AND Name <> 'Straße'
