SELECT id, isRobot IS TRUE AS t, isRobot IS NOT TRUE AS nt, isRobot IS FALSE AS f, isRobot IS NULL AS u, n <=> NULL AS same
FROM logs WHERE isRobot IS NOT FALSE
-- duckdb
SELECT id, isRobot IS NOT DISTINCT FROM TRUE AS t, isRobot IS DISTINCT FROM TRUE AS nt,
  isRobot IS NOT DISTINCT FROM FALSE AS f, isRobot IS NULL AS u, n IS NULL AS same
FROM logs WHERE isRobot IS DISTINCT FROM FALSE
