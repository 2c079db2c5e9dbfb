-- DuckDB rounds where Spark cuts off.
SELECT id, CAST(n AS STRING) AS s, CAST(n AS DOUBLE) AS d, CAST(n AS BIGINT) AS l, CAST(day AS STRING) AS t,
  CAST(isRobot AS INT) AS b, CAST(n AS BOOLEAN) AS truth, CAST(ts AS DATE) AS date, CAST(big AS DECIMAL(20, 0)) AS e,
  CAST(amount AS DOUBLE) AS a, CAST(amount AS INT) AS cut
FROM logs
-- duckdb
SELECT id, CAST(n AS VARCHAR) AS s, CAST(n AS DOUBLE) AS d, CAST(n AS BIGINT) AS l, CAST(day AS VARCHAR) AS t,
  CAST(isRobot AS INT) AS b, CAST(n AS BOOLEAN) AS truth, CAST(ts AS DATE) AS date, CAST(big AS DECIMAL(20, 0)) AS e,
  CAST(amount AS DOUBLE) AS a, CAST(trunc(CAST(amount AS DOUBLE)) AS INT) AS cut
FROM logs
