SELECT id, CASE WHEN n < 0 THEN 'below' WHEN n = 0 THEN 'zero' WHEN isRobot THEN Name ELSE 'above' END AS a,
  CASE host WHEN 1 THEN 10 WHEN 2 THEN 20 END AS b, CASE WHEN x > 1 THEN x END AS c, if(isRobot, n, -1) AS d,
  nullif(n, 0) AS e, nvl(Name, 'none') AS f
FROM logs WHERE CASE WHEN isRobot THEN n > 1 ELSE n < 8 END
-- duckdb
SELECT id, CASE WHEN n < 0 THEN 'below' WHEN n = 0 THEN 'zero' WHEN isRobot THEN Name ELSE 'above' END AS a,
  CASE host WHEN 1 THEN 10 WHEN 2 THEN 20 END AS b, CASE WHEN x > 1 THEN x END AS c,
  CASE WHEN isRobot THEN n ELSE -1 END AS d, nullif(n, 0) AS e, coalesce(Name, 'none') AS f
FROM logs WHERE CASE WHEN isRobot THEN n > 1 ELSE n < 8 END
