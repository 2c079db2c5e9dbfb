-- So does a function that may raise.
SELECT id, n FROM logs WHERE n > 0 AND reciprocal(n) < 0.4e0 AND isRobot
-- duckdb
SELECT id, n FROM logs WHERE n > 0 AND 1 / n < 0.4 AND isRobot
