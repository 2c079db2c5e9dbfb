-- args: {"least": 2, "most": 7.5, "name": "a%", "robot": true, "none": null}
SELECT id, :least + n AS sum, :name AS pattern FROM logs
WHERE n >= :least AND n < :most AND (Name LIKE :name OR isRobot = :robot OR n = :none)
-- duckdb
SELECT id, 2 + n AS sum, 'a%' AS pattern FROM logs WHERE n >= 2 AND n < 7.5 AND (Name LIKE 'a%' OR isRobot)
