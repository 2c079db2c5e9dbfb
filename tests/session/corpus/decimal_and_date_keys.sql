SELECT a.id AS one, b.id AS other FROM logs a JOIN logs b ON a.amount = b.amount AND a.day = b.day AND a.moment = b.moment WINDOW 2 MINUTES
-- duckdb
SELECT a.id AS one, b.id AS other FROM logs a JOIN logs b ON a.amount = b.amount AND a.day = b.day AND a.moment = b.moment
WHERE a.ts IS NOT NULL AND b.ts IS NOT NULL AND abs(epoch_us(a.ts) - epoch_us(b.ts)) <= 120000000
