"""Every built-in type with the values that are easily lost on the way through a text, json or another session."""

TYPED = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'very "happy"');
CREATE TYPE place AS (street text, "no 1" int, at timestamptz);
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE DOMAIN tags AS text[];
CREATE DOMAIN document AS jsonb;
"""

_FLOATS = ("'-0'", "'NaN'", "'Infinity'", "'-Infinity'", "'0.1'", "'1e-30'", "'3.14159274'")
_JSON = (
    """'{"a": 1, "a": 2,  "b": 1.0}'""",
    """'{"b":1e2,"a":1E400}'""",
    "'null'",
    "'[-0.0, 1.10]'",
    r"""'{"z": "\u0000", "\u0041": "\ud83d\ude00"}'""",
    "' 1 '",
)
_JSONB = (
    """'{"a": 1.0, "b": 1.00, "": null}'""",
    "'null'",
    "'[]'",
    "'-0.0'",
    """'"\\u0041"'""",
    "'12345678901234567890.10'",
)
_INTERVALS = (
    "'1 mon -1 day 00:00:01.5'",
    "'-178000000 years'",
    "'00:00:00'",
    "'-1 day +25:00'",
    "'0.000001 s'",
)

VALUES = {
    "boolean": ("true", "false"),
    "smallint": ("'-32768'", "0"),
    "bigint": ("9223372036854775807", "'-9223372036854775808'"),
    "real": _FLOATS,
    "double precision": (*_FLOATS, "'2.2250738585072014e-308'", "'0.30000000000000004'", "'1e308'"),
    "numeric": ("'NaN'", "'0.000'", "'-0.10'", "1e1000", "'1e-200'", "'123456789012345678901234567890.120'"),
    "numeric(12,4)": ("1.5", "'NaN'", "-0.0001"),
    "money": ("'-12.34'", "'92233720368547758.07'"),
    "text": ("''", "'NULL'", "E'a\\nb\\t\\x01'", "'\"'", "'\\N'", "'{}'", "'e\u0301'"),
    "varchar(9)": ("'a  '", "''"),
    "char(6)": ("'a'", "''", "'ab    '"),
    '"char"': ("'x'", "''", "'\\377'"),
    "name": ("'a b'", "''"),
    "bytea": (r"'\x00ff00'", r"'\x'", r"'\x5c5c27'"),
    "date": ("'0044-03-15 BC'", "'infinity'", "'-infinity'", "'2024-02-29'", "'5874897-12-31'"),
    "time": ("'24:00:00'", "'00:00:00.000001'"),
    "timetz": ("'12:00:00+05:45'", "'24:00:00-15:59'"),
    "timestamp": ("'0044-03-15 12:00 BC'", "'infinity'", "'294276-12-31 23:59:59.999999'", "'1999-01-02'"),
    "timestamptz": ("'-infinity'", "'2024-10-27 02:30:00+01'", "'1883-11-18 12:00:00-04:56:02'"),
    "interval": _INTERVALS,
    "json": _JSON,
    "jsonb": _JSONB,
    "jsonpath": ("'$.a[*] ? (@ > 1)'",),
    "uuid": ("'00000000-0000-0000-0000-00000000000a'",),
    "inet": ("'10.0.0.1/8'", "'::1'", "'10.0.0.1'"),
    "cidr": ("'10.0.0.0/8'", "'::/0'"),
    "macaddr": ("'08:00:2b:01:02:03'",),
    "macaddr8": ("'08:00:2b:01:02:03:04:05'",),
    "bit(3)": ("B'101'", "B'000'"),
    "varbit": ("B''", "B'1'", "B'0000000001'"),
    "tsvector": ("'a:1A fat:2,3 ''it''''s'':4'", "''"),
    "tsquery": ("'a & !b:*A'", "''"),
    "point": ("'(-0,1e-300)'", "'(NaN,Infinity)'"),
    "line": ("'{1,-1,0.1}'",),
    "lseg": ("'[(0,0),(1,0.1)]'",),
    "box": ("'(1,1),(0,0.1)'",),
    "path": ("'[(0,0),(1,1)]'", "'((0,0),(1,1))'"),
    "polygon": ("'((0,0),(1,1),(0.1,0))'",),
    "circle": ("'<(0,0),0.1>'",),
    "int4range": ("'empty'", "'[1,5)'", "'(,)'", "'(,3]'"),
    "numrange": ("'[1.0,1.10]'", "'empty'", "'(-infinity,infinity)'"),
    "tstzrange": ("'[2020-01-01 00:00+00,infinity]'", "'(,2020-01-01 12:00+00)'"),
    "int8multirange": ("'{}'", "'{[1,3),[5,9)}'"),
    "int[]": ("'{}'", "'[0:1]={1,NULL}'", "'{{1,2},{3,4}}'", "'[-1:0][2:3]={{1,2},{3,4}}'", "'{NULL}'"),
    "text[]": ("'{}'", '\'{"",NULL,"NULL"}\'', "'[5:5]={\"a,b\"}'", "'{{a},{\"\\\\\"}}'"),
    "real[]": ("'{-0,NaN,0.1}'", "'[2:3]={1e-30,Infinity}'"),
    "double precision[]": ("'{-0,0.30000000000000004}'",),
    "bytea[]": (r"ARRAY['\x00'::bytea, '\xff']",),
    "json[]": ("ARRAY['{\"a\":1,  \"a\":1.0}'::json, NULL, 'null']",),
    "jsonb[]": ("ARRAY['null'::jsonb, NULL, '1.0']",),
    "timestamptz[]": ("'{infinity,\"2020-01-01 00:00+00\"}'",),
    "interval[]": ("'{1 mon -1 day,\"-00:00:01.5\"}'",),
    "mood": ("'sad'", "'very \"happy\"'"),
    "mood[]": ('\'{sad,NULL,"very \\"happy\\""}\'', "'[3:3]={ok}'"),
    "place": ("'(,,)'", '\'("a, ""b""",3,"2020-01-01 00:00+00")\'', "ROW('', NULL, 'infinity')"),
    "place[]": ("ARRAY[ROW('x', 1, NULL)::place, NULL]",),
    "positive": ("7",),
    "tags": ("'[0:1]={x,y}'", "'{}'"),
    "document": ("'null'", "'{\"a\": 1.00}'"),
    "oid": ("4294967295", "0"),
    "regclass": ("'public.plain'", "'pg_class'"),
    "regtype": ("'public.mood'", "'int'"),
    "regproc": ("'now'",),
    "xid": ("'7'",),
    "xid8": ("'18446744073709551615'",),
    "cid": ("'7'",),
    "tid": ("'(0,1)'",),
    "pg_lsn": ("'16/B374D848'", "'0/0'"),
    "pg_snapshot": ("'10:20:10,14,15'",),
    "refcursor": ("'a b'",),
    "int2vector": ("'1 2'",),
    "oidvector": ("'1 2'",),
    "aclitem": ("'=r'",),
}
"""Types by name, each with literals."""

XML = {"xml": ("'<a b=\"c\">&lt; </a>'", "'text'")}
