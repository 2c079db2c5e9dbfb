SELECT `l`.`Name` AS `a name`, `id` AS `select` FROM `logs` AS `l` WHERE `l`.`isRobot`
-- duckdb
SELECT Name AS "a name", id AS "select" FROM logs WHERE isRobot
