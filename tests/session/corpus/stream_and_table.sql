-- Rows of a table have no time; of the stream no window is kept, and rows without a time are not joined.
SELECT l.id, s.place, s.weight FROM logs l JOIN sites s ON l.host = s.host WHERE l.isRobot AND s.place <> 'east'
-- duckdb
SELECT l.id, s.place, s.weight FROM logs l JOIN sites s ON l.host = s.host WHERE l.isRobot AND s.place <> 'east' AND l.ts IS NOT NULL
