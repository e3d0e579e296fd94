# What jq itself does, where the standard definitions differ. `matches`, `split_`, `replaced` and `concat` are the filters of
# patterns.rs: what is put together from many parts is written once.

def join($by):
  [.[] | if isnumber or isboolean then tojson else . // "" end] | [.[:1][], (.[1:][] | $by // "", .)] | concat;

# A key of the wrong type is an error. The first `in` is the standard one.
def has($key):
  . as $value
  | if . == null or (isobject and ($key | isstring)) or (isarray and ($key | isnumber)) then $key | in($value)
    else error("a key of this type cannot be looked for in the value") end;
def in(values): . as $key | values | has($key);

def nul_escaped: split("\u0000") | join("\\0");
def @html: tostring | nul_escaped | escape_html;
def @sh: [if isarray then .[] end | if . >= "" then "'\(nul_escaped | escape_sh)'" else "\(.)" end] | join(" ");

def captured: map(select(.name) | { (.name): .string }) | add + {};

def test(re; flags): matches(re; flags) | length > 0;
def match(re; flags): matches(re; flags)[] | .[0] + { captures: .[1:] };
def capture(re; flags): matches(re; flags)[] | captured;
def scan(re; $flags): matches(re; $flags + "g")[] | if length > 1 then [.[1:][].string] else .[0].string end;
def split(re; $flags): split_(re; $flags + "g");
def splits(re; $flags): split_(re; $flags + "g")[];
def sub(re; f; flags): replaced(re; f; flags);
def gsub(re; f; $flags): replaced(re; f; $flags + "g");

def with_flags: if isarray then .[0:2] else [., null] end;
def test($re): ($re | with_flags) as [$re, $flags] | test($re; $flags);
def match($re): ($re | with_flags) as [$re, $flags] | match($re; $flags);
def capture($re): ($re | with_flags) as [$re, $flags] | capture($re; $flags);
def scan(re): scan(re; null);
def splits(re): splits(re; null);
def sub(re; f): sub(re; f; null);
def gsub(re; f): gsub(re; f; null);
