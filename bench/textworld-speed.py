"""Steps a CPU second of one game of TextWorld with random admissible commands: FILE.json SECONDS."""

import random
import sys
import time

import textworld

game, seconds = sys.argv[1], float(sys.argv[2])
env = textworld.start(game, textworld.EnvInfos(admissible_commands=True, score=True, won=True, lost=True))
steps = 0
start, cpu = time.time(), time.process_time()
while time.time() - start < seconds:
    state = env.reset()
    for _ in range(100):
        state, _, done = env.step(random.choice(state["admissible_commands"]))
        steps += 1
        if done or time.time() - start >= seconds:
            break
print(steps / (time.process_time() - cpu))
