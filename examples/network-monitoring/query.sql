SELECT window_start, count(*) AS packets, sum(r1.size) AS bytes
FROM r1 [RANGE 10 MINUTES], r2 [RANGE 10 MINUTES], r3 [RANGE 10 MINUTES], r4 [RANGE 10 MINUTES]
WHERE r1.pid = r2.pid AND r1.pid = r3.pid AND r1.pid = r4.pid
GROUP BY TUMBLE(1 MINUTE);
