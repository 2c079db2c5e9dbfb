SELECT id, sqrt(n) AS root, exp(n / 10) AS e, power(n, 2) AS square, floor(x / 7) AS f, ceil(n / 2) AS c, round(x, 1) AS r, ln(id + 1) AS l
FROM logs WHERE n >= 0 AND x > -10 AND x < 1000000
-- duckdb
SELECT id, sqrt(n) AS root, exp(n / 10) AS e, power(n, 2) AS square, floor(x / 7)::BIGINT AS f, ceil(n / 2)::BIGINT AS c,
  round(x, 1) AS r, ln(id + 1) AS l
FROM logs WHERE n >= 0 AND x > -10 AND x < 1000000
