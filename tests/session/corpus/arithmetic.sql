SELECT id, id + 1 AS next, id * 2 - n AS y, -n AS negative, n % 7 AS rest, n DIV 3 AS thirds, x / 4 AS quarter, abs(n) AS a,
  n * 1.5e0 AS b, (n + 2) * (n - 3) AS product, x + n AS mixed, big - 1 AS less
FROM logs
-- duckdb
SELECT id, id + 1 AS next, id * 2 - n AS y, -n AS negative, n % 7 AS rest, n // 3 AS thirds, x / 4 AS quarter, abs(n) AS a,
  n * 1.5e0 AS b, (n + 2) * (n - 3) AS product, x + n AS mixed, big - 1 AS less
FROM logs
