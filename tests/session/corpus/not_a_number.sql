-- NaN equals itself and is larger than every number, also infinity; zero has no sign.
SELECT id, x = x AS same, x > 1e300 AS large, x = 0 AS zero, x <> 1.5e0 AS other FROM logs WHERE x >= 0 OR x < -3
-- duckdb
SELECT id, x = x AS same, x > 1e300 AS large, x = 0 AS zero, x <> 1.5e0 AS other FROM logs WHERE x >= 0 OR x < -3
