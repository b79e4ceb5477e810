"""Plays Gymnasium environments for policyloop. Requests and answers are lines of JSON.

{"make": {"id", "options", "modules"}} -> {"observation": space, "action": space, "maxSteps": number or null}
{"reset": [seed, ...]}              -> {"observations": [...]}: one episode per seed, in slots 0, 1, ...
{"step": [[slot, action], ...]}     -> {"steps": [[observation, reward, terminated, truncated], ...]}
A failed request                    -> {"failure": {"kind", "message", "details"}}
A request has a "mark", which precedes its answer on the same line.

Observations and actions are integers or flat lists of numbers. Floats stay exact: JSON contains enough digits.
The program ends when its standard input or its parent does.
"""

import contextlib
import json
import math
import os
import re
import signal
import sys
import threading
import time
import traceback


class Failure(Exception):
    def __init__(self, kind, message, details=""):
        super().__init__(message)
        self.kind = kind
        self.details = details


def take_streams():
    """Reserves the protocol's pipes: environments print to standard error and read from an empty file."""
    requests = os.fdopen(duplicate(0), "r", encoding="utf-8")
    answers = os.fdopen(duplicate(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return requests, answers


def duplicate(descriptor):
    """Duplicates a descriptor, if possible to a high number, which isn't used by mistake. Children don't inherit it."""
    try:
        import fcntl

        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 200)
    except (ImportError, OSError):
        return os.dup(descriptor)


def end_with_parent():
    """Watches the parent in a thread, because a busy environment doesn't notice the end of standard input."""
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(0.5)
        if hasattr(os, "killpg") and os.getpgid(0) == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def import_gymnasium():
    try:
        import gymnasium
        import numpy
    except ImportError as error:
        raise Failure("import", str(error), error.name or "gymnasium") from error
    return gymnasium, numpy


# Maximum size of a space: larger ones make prompts and policies useless, and fill the memory.
MOST_NUMBERS = 1_000_000


def leaves(space):
    """Returns (kind, low, high) for each number in a value of the space."""
    spaces = gymnasium.spaces
    if math.prod(space.shape or ()) > MOST_NUMBERS:
        raise Failure("space", f"a space of shape {space.shape} has more than {MOST_NUMBERS} numbers")
    if isinstance(space, spaces.Discrete):
        return [("discrete", int(space.start), int(space.start) + int(space.n) - 1)]
    if isinstance(space, spaces.MultiDiscrete):
        sizes = numpy.asarray(space.nvec).ravel().tolist()
        starts = numpy.broadcast_to(getattr(space, "start", 0), space.shape).ravel().tolist()
        return [("discrete", start, start + n - 1) for n, start in zip(sizes, starts)]
    if isinstance(space, spaces.MultiBinary):
        return [("discrete", 0, 1)] * math.prod(space.shape)
    if isinstance(space, spaces.Box):
        kind = "float32" if space.dtype in (numpy.float32, numpy.float16) else "float64"
        bounds = zip(space.low.astype(float).ravel().tolist(), space.high.astype(float).ravel().tolist())
        return [(kind, low, high) for low, high in bounds]
    if isinstance(space, (spaces.Tuple, spaces.Dict)):
        return [leaf for child in children(space) for leaf in leaves(child)]
    raise Failure("space", f"{type(space).__name__} spaces can't be converted to numbers: {shorten(repr(space))}")


def children(space):
    return list(space.spaces.values()) if isinstance(space, gymnasium.spaces.Dict) else list(space.spaces)


def describe(space):
    """Describes the space in policyloop's format. Discrete values combined with real numbers become real numbers."""
    parts = leaves(space)
    discrete = [{"kind": "discrete", "n": high - low + 1, "start": low} for _, low, high in parts]
    if isinstance(space, gymnasium.spaces.Discrete):
        return discrete[0]
    kinds = {kind for kind, _, _ in parts}
    if kinds == {"discrete"}:
        return {"kind": "tuple", "spaces": discrete}
    return {
        "kind": "box",
        "low": [low if math.isfinite(low) else None for _, low, _ in parts],
        "high": [high if math.isfinite(high) else None for _, _, high in parts],
        "dtype": "float64" if "float64" in kinds else "float32",
    }


def encoder(space):
    """Returns a function that converts values of the space to numbers."""
    spaces = gymnasium.spaces
    if isinstance(space, (spaces.Tuple, spaces.Dict)):
        keys = list(space.spaces) if isinstance(space, spaces.Dict) else range(len(space.spaces))
        parts = [(key, encoder(child)) for key, child in zip(keys, children(space))]

        def encode(value):
            numbers = []
            for key, part in parts:
                encoded = part(value[key])
                numbers.extend(encoded if isinstance(encoded, list) else [encoded])
            return numbers

        return encode
    parts = leaves(space)
    whole = None if isinstance(space, spaces.Box) else [(low, high) for _, low, high in parts]

    def flatten(value):
        array = numpy.asarray(value)
        if array.dtype.kind not in "biuf":
            raise Failure("invalid", f"the observation {shorten(repr(value))} has no numbers")
        # JSON distinguishes booleans from numbers.
        numbers = (array.astype(numpy.int8) if array.dtype.kind == "b" else array).ravel().tolist()
        if len(numbers) != len(parts):
            raise Failure("invalid", f"an observation has {len(numbers)} numbers instead of {len(parts)}")
        if whole is not None and any(n != n // 1 or not low <= n <= high for n, (low, high) in zip(numbers, whole)):
            raise Failure("invalid", f"the observation {shorten(repr(value))} is not in {shorten(repr(space))}")
        return numbers

    if isinstance(space, spaces.Discrete):
        return lambda value: int(flatten(value)[0])
    return flatten


def decode(space, numbers, alone=True):
    """
    Converts numbers from an iterator to a member of the space. Integers are rounded and clipped to their bounds. Real
    numbers are clipped to theirs only inside a tuple or dictionary: if a box is the whole action, Gymnasium leaves that
    to the environment.
    """
    spaces = gymnasium.spaces
    if isinstance(space, spaces.Dict):
        return {key: decode(child, numbers, False) for key, child in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(decode(child, numbers, False) for child in space.spaces)
    dtype = numpy.dtype(space.dtype)
    if dtype.kind == "f":
        values = numpy.array([next(numbers) for _ in range(space.low.size)]).reshape(space.shape)
        finite_range = numpy.finfo(dtype)
        array = numpy.clip(values, float(finite_range.min), float(finite_range.max)).astype(dtype)
        return array if alone else numpy.clip(array, space.low, space.high)
    if isinstance(space, spaces.Box):
        # Python integers, because the bounds of int64 have no exact float.
        bounds = zip(space.low.ravel().tolist(), space.high.ravel().tolist())
    else:
        bounds = [(low, high) for _, low, high in leaves(space)]
    values = [min(max(round(next(numbers)), int(low)), int(high)) for low, high in bounds]
    if isinstance(space, spaces.Discrete):
        return dtype.type(values[0])
    return numpy.array(values, dtype=dtype).reshape(space.shape)


# Gymnasium's name for a step limit, and names that environments use for their own limits.
STEP_LIMITS = ("max_episode_steps", "max_steps", "max_episode_length", "episode_length")


def step_limit(environment):
    """Returns the lowest step limit of the environment and its wrappers, or None."""
    limits = []
    while environment is not None:
        for owner in (environment, getattr(environment, "spec", None)):
            for name in STEP_LIMITS:
                for spelling in (name, f"_{name}"):
                    with contextlib.suppress(Exception):
                        limits.append(getattr(owner, spelling))
        environment = getattr(environment, "env", None)
    whole = (numpy.integer, int)
    return min((int(n) for n in limits if isinstance(n, whole) and not isinstance(n, bool) and n > 0), default=None)


class Episodes:
    """Copies of one environment, one per episode in progress."""

    def __init__(self, name, options):
        self.name = name
        self.options = options
        self.environments = [self.make()]
        first = self.environments[0]
        self.encode = encoder(first.observation_space)
        self.action_space = first.action_space
        self.seeds = []
        self.steps = []

    def make(self):
        return gymnasium.make(self.name, **self.options)

    def describe(self):
        first = self.environments[0]
        return {
            "observation": describe(first.observation_space),
            "action": describe(first.action_space),
            "maxSteps": step_limit(first),
        }

    def reset(self, seeds):
        self.seeds = seeds
        self.steps = [0] * len(seeds)
        observations = []
        for slot, seed in enumerate(seeds):
            with blame(lambda: self.place(slot)):
                if slot == len(self.environments):
                    self.environments.append(self.make())
                observation, _ = self.environments[slot].reset(seed=seed)
                observations.append(finite(self.encode(observation)))
        return {"observations": observations}

    def step(self, moves):
        steps = []
        for slot, action in moves:
            with blame(lambda: self.place(slot)):
                self.steps[slot] += 1
                numbers = action if isinstance(action, list) else [action]
                value = decode(self.action_space, iter(numbers))
                observation, reward, terminated, truncated, _ = self.environments[slot].step(value)
                encoded = finite(self.encode(observation))
                steps.append((encoded, finite(float(reward), "reward"), bool(terminated), bool(truncated)))
        return {"steps": steps}

    def place(self, slot):
        step = f"step {self.steps[slot]}" if self.steps[slot] > 0 else "the reset"
        return f"in {step} of the episode with seed {self.seeds[slot]}"

    def close(self):
        for environment in self.environments:
            environment.close()


OLD_API = "old Gym API: reset(self, *, seed=None, options=None) must return 2 values, and step 5"


@contextlib.contextmanager
def blame(place):
    """Adds to a failure where it happened, as described by `place`."""
    try:
        yield
    except Failure as failure:
        raise Failure(failure.kind, f"{failure} {place()}", failure.details) from failure
    except BaseException as error:
        if re.search(r"unexpected keyword argument 'seed'|expected 5, got 4", str(error)):
            raise Failure("invalid", f"{OLD_API} ({headline(error)}) {place()}") from error
        raise Failure("raised", f"{headline(error)} {place()}", traceback_of(error)) from error


def finite(value, what="observation"):
    for number in value if isinstance(value, list) else (value,):
        if not math.isfinite(number):
            raise Failure("invalid", f"the {what} {shorten(str(value))} is not finite")
    return value


def headline(error):
    return f"{type(error).__name__}: {shorten(' '.join(str(error).split()))}"


def shorten(text, limit=300):
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def traceback_of(error):
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def missing_module(error):
    """Returns the module named by an import error or the one that it wraps, as in Gymnasium; None if there is none."""
    while isinstance(error, ImportError):
        if error.name is not None:
            return error.name
        error = error.__cause__ or error.__context__
    return None


def make(request):
    global gymnasium, numpy
    gymnasium, numpy = import_gymnasium()
    folder = request.get("modules")
    if folder is not None:
        sys.path.insert(0, folder)
    try:
        return Episodes(request["id"], request["options"])
    except Failure:
        raise
    except BaseException as error:
        module = missing_module(error)
        if module is not None:
            raise Failure("import", headline(error), module) from error
        raise Failure("make", headline(error), traceback_of(error)) from error


def serve(requests, answers, make):
    """Answers requests. `make` returns an object with `describe` and a method for each kind of request."""
    episodes = None
    owner = os.getpid()
    for line in requests:
        request = json.loads(line)
        try:
            if "make" in request:
                episodes = make(request["make"])
                answer = episodes.describe()
            else:
                name = next(name for name in ("reset", "step", "gold") if name in request)
                answer = getattr(episodes, name)(request[name])
        except Failure as failure:
            answer = {"failure": {"kind": failure.kind, "message": str(failure), "details": failure.details}}
        if os.getpid() != owner:
            # The environment forked, so its step also returned in the child.
            os._exit(0)
        text = json.dumps(answer, separators=(",", ":"), allow_nan=False)
        answers.write(f"\n{request['mark']}{text}\n")
        answers.flush()
    if episodes is not None:
        episodes.close()


def run(make):
    # Import modules from the working directory, not from the folder of this file.
    sys.path[0] = os.getcwd()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGUSR1"):
        import faulthandler

        # The parent sends this signal to see where a request hangs.
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        faulthandler.enable()
    end_with_parent()
    serve(*take_streams(), make)


if __name__ == "__main__":
    run(make)
