# JavaScript's operators, functions and methods in Python. Numbers are floats, undefined is None.
import math
import re
from decimal import Decimal

null = object()

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
    if x == 0 or 1e-6 <= abs(x) < 1e21:
        return re.sub(r"\.0$", "", format(Decimal(repr(x + 0)), "f"))
    return re.sub(r"(e[+-])0", r"\1", repr(x))

def num(x):
    if isinstance(x, (float, bool)):
        return float(x)
    if nullish(x):
        return 0.0 if x is null else math.nan
    raise TypeError(f"{text(x)} is used as a number")

def add(a, b):
    return text(a) + text(b) if isinstance(a, str) or isinstance(b, str) else num(a) + num(b)

def div(a, b):
    a, b = num(a), num(b)
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)

def rem(a, b):
    a, b = num(a), num(b)
    return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)

def same(a, b):
    return type(a) is type(b) and a == b if isinstance(a, (float, str)) else a is b

def loose(a, b):
    if nullish(a) or nullish(b):
        return nullish(a) and nullish(b)
    return same(a, b) if type(a) is type(b) else num(a) == num(b)

Number = num
String = text
Boolean = truthy

def kind(x):
    kinds = {bool: "boolean", float: "number", str: "string", type(None): "undefined"}
    return kinds.get(type(x), "function" if callable(x) else "object")

def get(x, key):
    if isinstance(x, dict):
        return x.get(text(key))
    if isinstance(key, float) and isinstance(x, (list, str)):
        return x[int(key)] if 0 <= key < len(x) and key == int(key) else None
    if key == "length" and isinstance(x, (list, str)):
        return float(len(x))
    if isinstance(x, Observation):
        return x.names.get(key)
    raise TypeError(f"cannot read {text(key)} of {text(x)}")

def put(x, key, value):
    if isinstance(x, dict):
        x[text(key)] = value
    elif isinstance(x, list) and isinstance(key, float) and key >= 0 and key == int(key):
        x.extend([None] * (int(key) + 1 - len(x)))
        x[int(key)] = value
    else:
        raise TypeError(f"cannot set {text(key)} of {text(x)}")

def has(key, x):
    return text(key) in x if isinstance(x, dict) else get(x, key) is not None

def Array(x):
    return [None] * int(x)

def Array_from(x, f=lambda y, *_: y):
    return js_map(Array(x["length"]) if isinstance(x, dict) else x, f)

def Number_isNaN(x):
    return isinstance(x, float) and x != x

def Number_isFinite(x):
    return isinstance(x, float) and math.isfinite(x)

def Math_pow(a, b):
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

def Math_max(*xs):
    xs = [num(x) for x in xs]
    return math.nan if any(x != x for x in xs) else max(xs, key=lambda x: (x, math.copysign(1, x)), default=-math.inf)

def Math_min(*xs):
    return -Math_max(*(-num(x) for x in xs))

def Math_abs(x):
    return abs(num(x))

def Math_sign(x):
    return num(x) if num(x) == 0 or num(x) != num(x) else math.copysign(1, num(x))

def Math_round(x):
    return rounded(lambda y: math.floor(y) + (y - math.floor(y) >= 0.5), x)

def rounded(f, x):
    x = num(x)
    return math.copysign(f(x), x) if math.isfinite(x) else x

def calculated(f, *xs):
    xs = [num(x) for x in xs]
    x = xs[0]
    try:
        return f(*xs)
    except ValueError:
        is_pole = x == 0 and f in (math.log, math.log2, math.log10) or x == -1 and f is math.log1p
        return -math.inf if is_pole else math.nan
    except OverflowError:
        return math.copysign(math.inf, x) if f is math.sinh else math.inf

def js_map(x, f):
    return [f(y, float(i), x) for i, y in enumerate(x)]

def js_filter(x, f):
    return [y for i, y in enumerate(x) if truthy(f(y, float(i), x))]

def js_some(x, f):
    return any(truthy(f(y, float(i), x)) for i, y in enumerate(x))

def js_every(x, f):
    return all(truthy(f(y, float(i), x)) for i, y in enumerate(x))

def js_reduce(x, f, *start):
    total = start[0] if start else x[0]
    for i in range(0 if start else 1, len(x)):
        total = f(total, x[i], float(i), x)
    return total

def js_indexOf(x, y):
    if isinstance(x, str):
        return float(x.find(text(y)))
    return next((float(i) for i, z in enumerate(x) if same(z, y)), -1.0)

def js_includes(x, y):
    return text(y) in x if isinstance(x, str) else any(same(z, y) or (z != z and y != y) for z in x)

def js_push(x, *ys):
    x.extend(ys)
    return float(len(x))

def js_shift(x):
    return x.pop(0) if x else None

def js_slice(x, *ends):
    part = x[slice(*map(int, ends))] if len(ends) == 2 else x[int(ends[0]) :] if ends else x
    return part if isinstance(part, str) else list(part)

def js_fill(x, y):
    x[:] = [y] * len(x)
    return x
