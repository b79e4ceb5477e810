"""Plays games of TextWorldExpress for policyloop, as bridge.py plays Gymnasium. A Java process plays many games.

{"make": {"game", "params", "fold"}} -> {"ready": true}
{"reset": [seed, ...]}               -> {"tasks": [text, ...], "states": [state, ...]}, in slots 0, 1, ...
{"step": [[slot, command], ...]}     -> {"states": [state, ...]}
{"gold": seed}                       -> {"gold": [command, ...]}: commands that win the game with this seed
A state is [observation, score, won, lost, valid commands].
"""

import json
import os
import sys

# Python must not leave __pycache__ in the package.
sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
import bridge  # noqa: E402

sys.dont_write_bytecode = before


# Concurrent copies of these games with the same seed would share their contents if one process played them.
SHARING = ("sorting",)


class Games:
    """Copies of one game, one per episode in progress."""

    def __init__(self, request):
        self.request = request
        self.java = None
        self.players = [self.player()]
        self.gold_player = None
        self.tasks = []
        self.states = []

    def player(self):
        if self.java is None or self.request["game"] in SHARING:
            self.java = start_java()
        player = self.java.textworldexpress.runtime.PythonInterface()
        refusal = player.load(self.request["game"], self.request["params"])
        if refusal:
            raise bridge.Failure("make", refusal.strip())
        return player

    def describe(self):
        return {"ready": True}

    def reset(self, seeds):
        while len(self.players) < len(seeds):
            self.players.append(self.player())
        self.states, self.tasks = [], []
        for player, seed in zip(self.players, seeds):
            with bridge.blame(lambda: f"in the reset of the game with seed {seed}"):
                self.states.append(state_of(player.generateNewGameJSON(seed, self.request["fold"], False)))
                self.tasks.append(player.getTaskDescription())
        return {"tasks": self.tasks, "states": self.states}

    def step(self, moves):
        for slot, command in moves:
            if command == "help":
                # As in the Python package, this only shows the task.
                self.states[slot] = [self.tasks[slot], *self.states[slot][1:]]
            else:
                with bridge.blame(lambda: f"at the command {bridge.shorten(command)}"):
                    self.states[slot] = state_of(self.players[slot].stepJSON(command))
        return {"states": [self.states[slot] for slot, _ in moves]}

    def gold(self, seed):
        self.gold_player = self.gold_player or self.player()
        with bridge.blame(lambda: f"in the gold path of the game with seed {seed}"):
            self.gold_player.generateNewGameJSON(seed, self.request["fold"], True)
            return {"gold": list(self.gold_player.getGoldActionSequence())}

    def close(self):
        """Does nothing: the Java process ends when its standard input is closed."""


def state_of(text):
    game = json.loads(text)
    if "observation" not in game:
        raise bridge.Failure("raised", f"no game: {bridge.shorten(text)}")
    return [game["observation"], game["score"], game["tasksuccess"], game["taskfailure"], game["validActions"]]


def start_java():
    try:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
        from textworld_express.constants import BASEPATH, JAR_PATH
    except ImportError as error:
        raise bridge.Failure("import", str(error), error.name or "textworld_express") from error
    # With None, py4j looks in JAVA_HOME, which may be empty.
    java = None if os.environ.get("JAVA_HOME") else "java"
    try:
        port = launch_gateway(
            classpath=JAR_PATH, die_on_exit=True, cwd=BASEPATH, java_path=java, redirect_stderr=sys.stderr
        )
    except Exception as error:
        raise bridge.Failure("java", bridge.headline(error)) from error
    return JavaGateway(gateway_parameters=GatewayParameters(auto_field=True, port=port)).jvm


def make(request):
    try:
        return Games(request)
    except bridge.Failure:
        raise
    except Exception as error:
        raise bridge.Failure("make", bridge.headline(error), bridge.traceback_of(error)) from error


if __name__ == "__main__":
    bridge.run(make)
