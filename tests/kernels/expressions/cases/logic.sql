b AND c
b OR c
NOT (b AND c)
b AND NULL
b OR NULL
i <> 0 AND 10 / i > 2
i = 0 OR 10 / i > 2
i = 0 OR NOT (10 % i = 1)
b AND i + 1 > 0
b OR i + 1 > 0
(b OR c) AND 1 / i > 0
i IS NULL OR j IS NULL OR i / j > 1
j <> 0 AND i DIV j > 1
b AND (c AND 1 / j > 0)
NOT b OR NOT c
CAST(w AS INT) > 5 AND b
b AND CAST(w AS INT) > 5
