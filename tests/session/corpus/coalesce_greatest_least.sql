SELECT id, coalesce(n, host, -5) AS a, coalesce(Name, CAST(n AS STRING), '?') AS b, greatest(n, host) AS c,
  least(n, host, 3) AS d, greatest(x, 0.5e0) AS e
FROM logs WHERE coalesce(isRobot, n > 2, FALSE)
-- duckdb
SELECT id, coalesce(n, host, -5) AS a, coalesce(Name, CAST(n AS VARCHAR), '?') AS b, greatest(n, host) AS c,
  least(n, host, 3) AS d, greatest(x, 0.5e0) AS e
FROM logs WHERE coalesce(isRobot, n > 2, FALSE)
