-- streams: yes
SELECT id, bucket(n) AS size, twice(x) AS double_x, upper(bucket(n)) AS loud, robotic(Name, isRobot) AS machine
FROM logs WHERE robotic(Name, isRobot) AND bucket(n) <> 'none' AND n > -5
-- duckdb
SELECT id, CASE WHEN n IS NULL THEN NULL WHEN n < 5 THEN 'few' ELSE 'many' END AS size, 2 * x AS double_x,
  CASE WHEN n IS NULL THEN NULL WHEN n < 5 THEN 'FEW' ELSE 'MANY' END AS loud,
  coalesce(isRobot, FALSE) OR coalesce(lower(Name) LIKE 'robot%', FALSE) AS machine
FROM logs WHERE (coalesce(isRobot, FALSE) OR coalesce(lower(Name) LIKE 'robot%', FALSE)) AND n > -5
