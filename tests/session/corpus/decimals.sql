SELECT id, amount + 1 AS a, amount * 2 AS b, -amount AS c, amount - 0.05 AS d, amount > 0.05 AS e FROM logs
WHERE amount <= 12.45 OR amount = 99999.99
-- duckdb
SELECT id, amount + 1 AS a, amount * 2 AS b, -amount AS c, amount - 0.05 AS d, amount > 0.05 AS e FROM logs
WHERE amount <= 12.45 OR amount = 99999.99
