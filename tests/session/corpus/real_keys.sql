-- NaN equals NaN, zeros whatever their sign, NULL nothing; rows without a time meet nobody.
SELECT a.id AS one, b.id AS other, a.x FROM logs [RANGE 2 MINUTES] a, logs [RANGE 2 MINUTES] b WHERE a.x = b.x AND a.host = b.host
-- duckdb
SELECT a.id AS one, b.id AS other, a.x FROM logs a, logs b WHERE a.x = b.x AND a.host = b.host
  AND a.ts IS NOT NULL AND b.ts IS NOT NULL AND abs(epoch_us(a.ts) - epoch_us(b.ts)) <= 120000000
