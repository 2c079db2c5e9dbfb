-- streams: yes
SELECT s.sector, count(*) AS n, max(n.ts) AS latest, sum(s.volume) AS volume, window_start, window_end
FROM stock [RANGE 20 MINUTES] s JOIN news [RANGE 40 MINUTES] n ON s.sector = n.sector GROUP BY s.sector, TUMBLE(30 MINUTES)
-- duckdb
SELECT sector, count(*) AS n, max(nts) AS latest, sum(volume)::BIGINT AS volume,
  make_timestamp(epoch_us(t) // 1800000000 * 1800000000) AS window_start,
  make_timestamp(epoch_us(t) // 1800000000 * 1800000000 + 1800000000) AS window_end
FROM (SELECT s.sector, s.volume, s.ts AS sts, n.ts AS nts, greatest(s.ts, n.ts) AS t FROM stock s JOIN news n ON s.sector = n.sector)
WHERE t - sts <= INTERVAL 20 MINUTE AND t - nts <= INTERVAL 40 MINUTE GROUP BY sector, epoch_us(t) // 1800000000
