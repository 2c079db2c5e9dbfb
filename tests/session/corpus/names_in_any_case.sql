-- Names match without regard to case and keep their spelling.
select L.ISROBOT, l.NAME, Id As ID2 from LOGS as L where l.Isrobot and L.N > 1
-- duckdb
SELECT isRobot AS "isRobot", Name AS "Name", id AS "ID2" FROM logs WHERE isRobot AND n > 1
