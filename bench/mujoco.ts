import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { makeEnvironment } from '../src/environments/catalogue/open.js';
import { createPolicyFamily } from '../src/policies/families.js';
import { rollout } from '../src/rollout/episode.js';
import type { Finding } from './finding.js';
import { median } from './rollouts.js';

const ids = [
  'HalfCheetah-v5',
  'Hopper-v5',
  'Walker2d-v5',
  'Swimmer-v5',
  'Reacher-v5',
  'InvertedPendulum-v5',
  'InvertedDoublePendulum-v5',
];
const turns = 3;
/** CPU seconds per measurement. Wall time would mostly reflect other load on the machine. */
const seconds = 0.4;
/** Value of every parameter of the linear policy, so that both sides play the same episodes. */
const weight = 0.1;

/** Measures steps per CPU second in MuJoCo environments with a linear policy, here and in Python, in turns. */
export async function benchMujoco(python: string): Promise<readonly Finding[]> {
  const players = await Promise.all(ids.map(player));
  for (const play of players) measure(play, 0.2);
  const ours: number[][] = [];
  const theirs: number[][] = [];
  for (let turn = 0; turn < turns; turn++) {
    ours.push(players.map((play) => measure(play, seconds)));
    const speeds = measurePython(python);
    if (speeds !== undefined) theirs.push(speeds);
  }
  return ids.map((id, i) => {
    const speed = median(ours.map((turn) => turn[i]!));
    const name = `${id} + linear policy`;
    const value = `${(speed / 1e3).toFixed(1)} k steps/CPU s`;
    if (theirs.length === 0) return { name, value, note: `${python} has no gymnasium with mujoco` };
    const other = median(theirs.map((turn) => turn[i]!));
    const ratio = (speed / other).toFixed(2);
    return { name, value, note: `Python ${(other / 1e3).toFixed(1)} k, ratio ${ratio} (target ≥ 0.9)` };
  });
}

/** Plays one episode and returns its number of steps. */
type Player = (seed: number) => number;

async function player(id: string): Promise<Player> {
  const environment = await makeEnvironment(id);
  const family = createPolicyFamily(
    { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 },
    environment,
  );
  const policy = family.build(Array.from({ length: family.parameters.count }, () => weight));
  return (seed) => rollout(environment, policy, { seed, maxSteps: 1000 }).length;
}

function measure(play: Player, cpuSeconds: number): number {
  const start = process.cpuUsage();
  const spent = () => {
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1e6;
  };
  let steps = 0;
  for (let seed = 0; spent() < cpuSeconds; seed++) steps += play(seed % 1000);
  return steps / spent();
}

const script = `
import importlib.util, json, sys, time, types
if importlib.util.find_spec("imageio") is None: sys.modules["imageio"] = types.ModuleType("imageio")
try:
    import gymnasium, mujoco, numpy as np
except ImportError:
    sys.exit(3)
speeds = []
for id in ${JSON.stringify(ids)}:
    env = gymnasium.make(id)
    W = np.full(env.observation_space.shape + env.action_space.shape, ${weight})
    b = np.full(env.action_space.shape, ${weight})
    steps, seed, start = 0, 0, time.process_time()
    while time.process_time() - start < ${seconds}:
        s, _ = env.reset(seed=seed % 1000); seed += 1
        while True:
            s, r, terminated, truncated, _ = env.step(s @ W + b)
            steps += 1
            if terminated or truncated: break
    speeds.append(steps / (time.process_time() - start))
print(json.dumps(speeds))
`;

function measurePython(python: string): number[] | undefined {
  const { status, stdout } = spawnSync(python, ['-W', 'ignore', '-c', script], { encoding: 'utf8' });
  return status === 0 ? (JSON.parse(stdout) as number[]) : undefined;
}
