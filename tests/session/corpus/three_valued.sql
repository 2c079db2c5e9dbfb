SELECT id, isRobot AND n > 3 AS both, isRobot OR n > 3 AS either, NOT isRobot AS human, (n > 3) IS NULL AS unknown
FROM logs WHERE NOT (isRobot AND n > 3) OR x IS NULL
-- duckdb
SELECT id, isRobot AND n > 3 AS both, isRobot OR n > 3 AS either, NOT isRobot AS human, (n > 3) IS NULL AS unknown
FROM logs WHERE NOT (isRobot AND n > 3) OR x IS NULL
