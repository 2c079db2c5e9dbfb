SELECT ts, level, content, round(most_entropy(content), 2) AS bits
FROM logs
WHERE most_entropy(content) > :least
  AND names_outsider(content)
  AND reports_failure(content)
  AND level <> 'DEBUG';
