SELECT id, day = DATE '2024-02-29' AS leap, day < moment AS earlier FROM logs
WHERE day IN (DATE '2026-01-01', DATE '1969-12-31') OR moment > '2025-01-01 00:00:00'
-- duckdb
SELECT id, day = DATE '2024-02-29' AS leap, day < moment AS earlier FROM logs
WHERE day IN (DATE '2026-01-01', DATE '1969-12-31') OR moment > TIMESTAMP '2025-01-01 00:00:00'
