length(s)
upper(s)
lower(s)
upper(u)
trim(s)
ltrim(s)
rtrim(s)
trim(w)
length(trim(s))
substring(s, 1)
substring(s, 2)
substring(s, 0)
substring(s, -2)
substring(s, 2, 2)
substring(s, 0, 2)
substring(s, -2, 1)
substring(s, -5, 3)
substring(s, -5, 7)
substring(s, 2, 0)
substring(s, 2, -1)
substring(s, 100)
substring(s, j)
substring(s, j, 2)
substring(s, 2, j)
substring(s, t, j)
substring(s, i, j)
substring('日本語', j)
substring(s, j, i)
substring(s, NULL)
substring(s, -100, 100)
substring(s, 2147483647)
substring(s, -2147483648, 2147483647)
substring(s, 2, 2147483647)
replace(s, 'a', 'bb')
replace(s, '', 'x')
replace(s, u, '-')
replace(s, 'a', u)
replace(s, u, s)
replace('aaa', 'aa', u)
replace(s, NULL, 'x')
replace(s, 'a', '')
startswith(s, 'a')
startswith(s, '')
startswith(s, u)
endswith(s, 'b')
endswith(s, u)
endswith(s, '')
contains(s, 'a')
contains(s, '')
contains(s, u)
contains(u, s)
contains('abc', u)
startswith('Straße', s)
contains(s, NULL)
instr(s, 'a')
instr(s, '')
instr(s, 'ß')
instr(s, '本')
instr(s, u)
instr(s, 'y')
instr(u, s)
instr(s, 'zz')
instr(s, NULL)
s || u
concat(s, u, 'x')
concat(s)
concat(s, NULL)
concat('a', 'b')
s LIKE 'a%'
s LIKE '%b'
s LIKE '%a%'
s LIKE 'a_b%'
s LIKE '%\\%%'
s LIKE 'a!%b!_c' ESCAPE '!'
s LIKE ''
s LIKE '%'
s LIKE '%%'
s LIKE '_'
s LIKE '___'
s LIKE 'line%'
s LIKE 'line_break'
s LIKE '%\\\\%'
s LIKE '日%ト'
s LIKE '_y_'
s LIKE 'a.*'
s NOT LIKE 'a%'
s LIKE '%_%'
s LIKE 'a%a'
s LIKE '% %'
u LIKE '\\%'
s RLIKE 'a'
s RLIKE '^a+$'
s RLIKE '[a-c]{2}'
s RLIKE ''
s RLIKE 'e.b'
s RLIKE '(?s)e.b'
s RLIKE '\\d'
s RLIKE '本'
NOT s RLIKE 'a'
upper(s) = upper(u)
lower(upper(s))
length(s || u)
w RLIKE '^ *[0-9]+ *$'
s LIKE '(%'
s LIKE '%.%'
s NOT LIKE 'a!%b%' ESCAPE '!'
NOT (s NOT LIKE 'a%')
upper('ŉ ǰ İ ﬁ')
lower('İ Σ ΑΣ')
startswith(s, o)
endswith(s, o)
contains(s, o)
instr(s, o)
instr(o, s)
endswith(o, s)
startswith(o, u)
endswith(s, NULL)
startswith(s, s)
endswith(s, s)
contains(s, substring(s, j))
contains(s || o, o)
instr(s || o, o)
instr(s || s, s)
instr('Straße ς 𝒳y𝒵', o)
instr(concat('日本', s), o)
contains('', o)
replace(s, o, '')
replace(s, o, '日本')
replace(s, o, s)
replace(s, '', o)
replace(s, 'a', o)
replace(s, 'ß', o)
replace(s || s || s, u, o)
replace('aaaa', u, o)
replace('aaaaa', 'aa', s)
replace(NULL, u, o)
replace(s, NULL, o)
replace(s, u, NULL)
replace(replace(s, u, o), o, u)
substring(s, length(s))
substring(s, -length(s), 1)
substring(s, -length(s) - 1, 2)
substring(s, length(s) + 1)
substring(s, instr(s, o))
substring(s, instr(s, o), length(o))
substring(s, i)
substring(s, t)
substring(s, i, i)
substring(s, -1, j)
substring(s, 0, j)
substring(s, j, NULL)
substring(NULL, j)
substring('𝒳y𝒵', t, 2)
substring(substring(s, j), -1)
upper(o)
lower(o)
lower(upper(s) || o)
upper(lower(s) || 'ŉ')
upper('ΐ ﬃ ᾳ և ẞ ı')
lower('ΑΣ Σ ΣΑ ΑΣ. ΌΣΟΣ')
lower('ẞ K Å Ⓐ 𐐀')
upper('ÿ µ ǆ ⓐ 𐐨')
CASE WHEN length(s) > 3 THEN substring(s, j) ELSE replace(s, u, o) END
CASE WHEN b THEN contains(s, o) ELSE startswith(s, u) END
contains(NULL, u)
instr(NULL, o)
startswith(NULL, NULL)
concat(o, CAST(CAST(l AS INT) AS STRING))
s || CAST(CAST(w AS INT) AS STRING) || u
concat(NULL, CAST(10 DIV i AS STRING))
