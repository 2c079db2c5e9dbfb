SELECT bucket(n) AS size, count(*) AS rows, sum(twice(CAST(n AS DOUBLE))) AS total, max(concat(bucket(n), Name)) AS text
FROM logs [RANGE 20 MINUTES] WHERE robotic(Name, isRobot) GROUP BY bucket(n)
-- duckdb
SELECT CASE WHEN n IS NULL THEN NULL WHEN n < 5 THEN 'few' ELSE 'many' END AS size, count(*) AS rows,
  sum(2.0 * n)::DOUBLE AS total, max(CASE WHEN n < 5 THEN 'few' WHEN n IS NOT NULL THEN 'many' END || Name) AS text
FROM logs WHERE (coalesce(isRobot, FALSE) OR coalesce(lower(Name) LIKE 'robot%', FALSE)) AND ts IS NOT NULL
GROUP BY 1, epoch_us(ts) // 1200000000
