# What JavaScript's operators and methods do. Exported programs contain the definitions that they need.
null = object()  # undefined is None

class Observation(list):  # with named components
    def __init__(self, values, names):
        super().__init__(float(x) for x in values)
        self.names = {name: x for name, x in zip(names, self) if name}

def nullish(x):
    return x is None or x is null

def truthy(x):
    if isinstance(x, float):
        return x == x and x != 0
    return not nullish(x) and x is not False and x != ""

def text(x):
    if isinstance(x, (str, bool)):
        return x if isinstance(x, str) else str(x).lower()
    if isinstance(x, list):
        return ",".join("" if nullish(y) else text(y) for y in x)
    if not isinstance(x, float):
        return "undefined" if x is None else "null" if x is null else "[object Object]"
    if not math.isfinite(x):
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
    if x == math.floor(x) and abs(x) < 1e16:
        return str(int(x))
    digits, _, power = repr(abs(x)).partition("e")
    sign, power = "-" if x < 0 else "", int(power or 0)
    whole, _, rest = digits.partition(".")
    rest = "" if rest == "0" else rest
    if 0 < power < 21:
        return sign + whole + rest.ljust(power, "0")
    if -7 < power < 0:
        return sign + "0." + "0" * (-power - 1) + whole + rest
    return sign + whole + (rest and "." + rest) + (f"e{power:+d}" if power else "")

def num(x):
    if isinstance(x, float):
        return x
    if isinstance(x, bool) or x is null:
        return 1.0 if x is True else 0.0
    x = text(x).strip()
    try:
        return 0.0 if x == "" else float(x) if "_" not in x and "n" not in x.lower() else math.nan
    except ValueError:
        return math.nan

def add(a, b):
    if isinstance(a, (str, list, dict)) or isinstance(b, (str, list, dict)):
        return text(a) + text(b)
    return num(a) + num(b)

def div(a, b):
    a, b = num(a), num(b)
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)

def rem(a, b):
    a, b = num(a), num(b)
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)

def math_pow(a, b):
    a, b = num(a), num(b)
    if b != b or (abs(a) == 1 and math.isinf(b)):
        return math.nan
    largest = -math.inf if math.copysign(1, a) < 0 and abs(b) % 2 == 1 else math.inf
    try:
        return math.pow(a, b)
    except ValueError:
        return largest if a == 0 else math.nan
    except OverflowError:
        return largest

def same(a, b):
    return type(a) is type(b) and a == b if isinstance(a, (float, str)) else a is b

def loose(a, b):
    if nullish(a) or nullish(b):
        return nullish(a) and nullish(b)
    return same(a, b) if type(a) is type(b) else num(a) == num(b)

def compare(a, sign, b):
    if not (isinstance(a, str) and isinstance(b, str)):
        a, b = num(a), num(b)
    return a < b if sign == "<" else a > b if sign == ">" else a <= b if sign == "<=" else a >= b

def kind(x):
    kinds = {bool: "boolean", float: "number", str: "string", type(None): "undefined"}
    return kinds.get(type(x), "function" if callable(x) else "object")

def get(x, key):
    if nullish(x):
        raise TypeError(f"cannot read {text(key)} of {text(x)}")
    if isinstance(x, dict):
        return x.get(text(key))
    if isinstance(key, str) and text(num(key)) == key:
        key = num(key)
    if isinstance(key, float) and isinstance(x, (list, str)):
        return x[int(key)] if 0 <= key < len(x) and key == int(key) else None
    return float(len(x)) if key == "length" and isinstance(x, (list, str)) else getattr(x, "names", {}).get(key)

def put(x, key, value):
    if isinstance(x, dict):
        x[text(key)] = value
    elif isinstance(x, list) and isinstance(key, float) and key >= 0 and key == int(key):
        x.extend([None] * (int(key) + 1 - len(x)))
        x[int(key)] = value
    else:
        raise TypeError(f"cannot set {text(key)}")
    return value

def has(key, x):
    return text(key) in x if isinstance(x, dict) else get(x, key) is not None

def each(x):
    if not isinstance(x, (list, str)):
        raise TypeError(f"{text(x)} is not iterable")
    return x

def object_keys(x):
    if isinstance(x, list):
        return [text(float(i)) for i in range(len(x))]
    return sorted((k for k in x if k.isdigit()), key=int) + [k for k in x if not k.isdigit()]

def object_values(x):
    return [get(x, k) for k in object_keys(x)]

def object_entries(x):
    return [[k, get(x, k)] for k in object_keys(x)]

def array_of_length(x):
    return [None] * int(x) if isinstance(x, float) else [x]

def array_isArray(x):
    return isinstance(x, list)

def array_from(x, f=lambda y, *_: y):
    return js_map([None] * int(num(get(x, "length"))) if isinstance(x, dict) else each(x), f)

def number_isFinite(x):
    return isinstance(x, float) and math.isfinite(x)

def number_isNaN(x):
    return isinstance(x, float) and x != x

def isFinite(x):
    return math.isfinite(num(x))

def isNaN(x):
    return num(x) != num(x)

def number_isInteger(x):
    return number_isFinite(x) and x == int(x)

def math_max(*xs):
    xs = [num(x) for x in xs]
    return math.nan if any(x != x for x in xs) else max(xs, key=lambda x: (x, math.copysign(1, x)), default=-math.inf)

def math_min(*xs):
    return -math_max(*(-num(x) for x in xs))

def math_abs(x):
    return abs(num(x))

def math_sign(x):
    return num(x) if num(x) == 0 or num(x) != num(x) else math.copysign(1, num(x))

def math_round(x):
    return rounded(lambda y: math.floor(y) + (y - math.floor(y) >= 0.5), x)

def math_atan2(y, x):
    return math.atan2(num(y), num(x))

def math_hypot(*xs):
    return float(math.hypot(*map(num, xs)))

def rounded(f, x):
    return math.copysign(f(num(x)), num(x)) if math.isfinite(num(x)) else num(x)

def calculated(f, x):
    x = num(x)
    try:
        return f(x)
    except ValueError:
        is_pole = x == 0 and f in (math.log, math.log2, math.log10) or x == -1 and f is math.log1p
        return -math.inf if is_pole else math.nan
    except OverflowError:
        return math.copysign(math.inf, x) if f is math.sinh else math.inf

def js_map(x, f):
    return [f(y, float(i), x) for i, y in enumerate(x)]

def js_filter(x, f):
    return [y for i, y in enumerate(x) if truthy(f(y, float(i), x))]

def js_forEach(x, f):
    js_map(x, f)

def js_some(x, f):
    return any(truthy(f(y, float(i), x)) for i, y in enumerate(x))

def js_every(x, f):
    return all(truthy(f(y, float(i), x)) for i, y in enumerate(x))

def js_find(x, f):
    return next((y for i, y in enumerate(x) if truthy(f(y, float(i), x))), None)

def js_findIndex(x, f):
    return next((float(i) for i, y in enumerate(x) if truthy(f(y, float(i), x))), -1.0)

def js_reduce(x, f, *start):
    total = start[0] if start else x[0]
    for i in range(0 if start else 1, len(x)):
        total = f(total, x[i], float(i), x)
    return total

def js_indexOf(x, y):
    return float(x.find(text(y))) if isinstance(x, str) else js_findIndex(x, lambda z, *_: same(z, y))

def js_includes(x, y):
    return text(y) in x if isinstance(x, str) else any(same(z, y) or (z != z and y != y) for z in x)

def js_push(x, *ys):
    x.extend(ys)
    return float(len(x))

def js_pop(x):
    return x.pop() if x else None

def js_shift(x):
    return x.pop(0) if x else None

def js_slice(x, *ends):
    part = x[slice(*map(int, ends))] if len(ends) == 2 else x[int(ends[0]) :] if ends else x
    return part if isinstance(x, str) else list(part)

def js_concat(x, *ys):
    return list(x) + [z for y in ys for z in (y if isinstance(y, list) else [y])]

def js_join(x, y=","):
    return text(y).join("" if nullish(z) else text(z) for z in x)

def js_fill(x, y):
    x[:] = [y] * len(x)
    return x

def js_sort(x, f):
    for i in range(1, len(x)):
        while i > 0 and num(f(x[i - 1], x[i])) > 0:
            x[i - 1], x[i] = x[i], x[i - 1]
            i -= 1
    return x

def js_entries(x):
    return [[float(i), y] for i, y in enumerate(x)]

def js_split(x, y):
    return list(x) if y == "" else x.split(text(y))

def js_trim(x):
    return x.strip()

def js_startsWith(x, y):
    return x.startswith(text(y))

def js_toLowerCase(x):
    return x.lower()
