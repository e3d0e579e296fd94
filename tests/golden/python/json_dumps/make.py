"""Odd lines of JSON and what json.dumps makes of them: records with the text first, as dedup writes them.

python3 make.py COUNT SEED > cases.txt        between bytes 01: the line, the record, with ranges under metadata.sa_remove_ranges, with ranges
behind the text (both with [[1, 2]])."""
import json, random, sys

count, seed = int(sys.argv[1]), int(sys.argv[2])
rng = random.Random(seed)
sys.setrecursionlimit(5000)


def white():
    return rng.choice(["", "", "", "", " ", "  ", "\t", " \r"])


def unit(code):
    digits = "%04x" % code
    return "\\u" + "".join(rng.choice([c, c.upper()]) for c in digits)


def content(surrogates):
    out = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 8])):
        kind = rng.randrange(9)
        if kind == 0:
            out.append(rng.choice(["\\n", "\\t", "\\r", "\\b", "\\f", "\\/", "\\\\", '\\"']))
        elif kind == 1:
            out.append(unit(rng.choice([0, 1, 8, 9, 10, 12, 13, 0x1f, 0x20, 0x22, 0x2f, 0x5c, 0x7e, 0x7f, 0x80, 0xe9, 0x2028, 0xfffd, 0xffff])))
        elif kind == 2:
            code = rng.randrange(0x10000, 0x110000) - 0x10000
            out.append(unit(0xD800 + (code >> 10)) + unit(0xDC00 + (code & 0x3FF)))
        elif kind == 3 and surrogates:
            out.append(unit(rng.choice([0xD800, 0xDBFF, 0xDC00, 0xDFFF])))
        elif kind == 4:
            out.append(rng.choice(["é", "漢字", "😀", "\x7f", "\u2028", "\ufeff", "\u0085", "ß" * 20]))
        else:
            out.append("".join(rng.choice("abc xyz/{}[]:,'0") for _ in range(rng.choice([1, 3, 40]))))
    return "".join(out)


def number():
    kind = rng.randrange(8)
    if kind == 0:
        return rng.choice(["0", "-0", "-0.0", "0.0", "1", "-1", "0e5", "-0E-5", "0.1", "1.0", "100", "1e5", "1E+5", "1e-5", "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "5e-324", "2e-324", "1e16", "1e15", "123456789012345678", "9007199254740993", "9007199254740993.0", "0.30000000000000004", "1.7976931348623157e308", "1.7976931348623159e308", "0.00001", "0.0001", "1" + "0" * 400, "1" + "0" * 400 + ".5"])
    if kind < 3:
        return str(rng.randrange(-10 ** rng.randrange(1, 40), 10 ** 20))
    sign = rng.choice(["", "-"])
    whole = rng.choice(["0", str(rng.randrange(1, 10 ** rng.randrange(1, 20)))])
    fraction = "." + "".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 25))) if rng.random() < 0.7 else ""
    exponent = rng.choice("eE") + rng.choice(["", "+", "-"]) + str(rng.randrange(0, 330)) if rng.random() < 0.5 else ""
    return sign + whole + fraction + exponent


KEYS = ["a", "b", "\\u0061", "é", "\\u00e9", "\\u00E9", "metadata", "sa_remove_ranges", "", "a b", "\\ud800", "\\ud801", "\\n", "k\\/", "k/", "x.y"]


def key():
    return rng.choice(KEYS) if rng.random() < 0.8 else content(True)


def value(depth):
    kind = rng.randrange(8 if depth < 4 else 5)
    if kind < 2:
        return '"' + content(True) + '"'
    if kind < 4:
        return number()
    if kind == 4:
        return rng.choice(["true", "false", "null"])
    if kind == 5:
        items = [white() + value(depth + 1) + white() for _ in range(rng.choice([0, 1, 2, 5]))]
        return "[" + (",".join(items) or white()) + "]"
    return obj(depth + 1, [])


def obj(depth, fields):
    fields = list(fields)
    for _ in range(rng.choice([0, 1, 2, 3, 6])):
        fields.append((key(), value(depth)))
    rng.shuffle(fields)
    return "{" + (",".join(white() + '"' + k + '"' + white() + ":" + white() + v + white() for k, v in fields) or white()) + "}"


def dumped(record):
    return json.dumps(record)


made = 0
while made < count:
    texts = [(rng.choice(["text", "text", "te\\u0078t"]), '"ab' + content(False) + '"')]
    if rng.random() < 0.1:
        texts.append(("text", '"ab' + content(False) + '"'))
    if rng.random() < 0.3:
        texts.append(("metadata", value(0)))
    line = white() + obj(0, texts) + white()
    record = json.loads(line)
    text = record.pop("text", None)
    if not isinstance(text, str) or any(0xD800 <= ord(c) < 0xE000 for c in text):
        continue
    assert "\n" not in line and len(text) > 1
    if rng.random() < 0.2:
        line = json.dumps({"text": text, **record})
    removed = dumped({"text": text, **record})
    # The text begins with "ab": the range is a whole character.
    behind = dumped({"text": text, "sa_remove_ranges": [[1, 2]], **record})
    under = json.loads(json.dumps(record))
    if not isinstance(under.get("metadata"), dict):
        under["metadata"] = {}
    under["metadata"]["sa_remove_ranges"] = [[1, 2]]
    under = dumped({"text": text, **under})
    print("\x01".join([line, removed, under, behind]))
    made += 1
