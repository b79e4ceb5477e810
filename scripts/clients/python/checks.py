"""Runs checks of one client and prints a JSON line for each: {"check", "error"}."""
import json
import sys
import traceback
from importlib.metadata import version

url, model = sys.argv[1:3]


def client(package):
    print(json.dumps({"version": version(package)}), flush=True)


def check(name):
    def run(function):
        try:
            function()
            error = None
        except Exception as caught:
            lines = [line for line in str(caught).splitlines() if line.strip()]
            error = f"{type(caught).__name__}: {' '.join(lines)[:300]}"
            traceback.print_exc()
        print(json.dumps({"check": name, "error": error}), flush=True)

    return run
