/** Programs as small models write them, and what their exported files do. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type {
  Action,
  Environment,
  EnvironmentSpec,
  Observation,
} from '../../src/environments/environment.js';
import type { Policy } from '../../src/policies/policy.js';
import { exportedProgram } from '../../src/programs/export/export.js';
import { openSandbox } from '../../src/programs/sandbox.js';
import { createGenerator } from '../../src/random/generator.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
export const hasPython = spawnSync(python, ['-c', 'import math']).status === 0;

type Episodes = readonly (readonly Observation[])[];
type Actions = readonly (readonly Action[])[];

/** Observations of episodes with random actions, all of this length: several episodes one after the other. */
export function observed(environment: Environment, episodes: number, steps: number): Episodes {
  const random = createGenerator(1);
  const { actionSpace } = environment;
  if (actionSpace.kind !== 'discrete') throw new Error('only for discrete actions');
  let seed = 0;
  let next: Observation | undefined;
  return Array.from({ length: episodes }, () =>
    Array.from({ length: steps }, () => {
      const current: Observation = next ?? environment.reset(seed++);
      const step = environment.step((actionSpace.start ?? 0) + random.integers(0, actionSpace.n));
      next = step.terminated || step.truncated ? undefined : step.observation;
      return current;
    }),
  );
}

/** The actions in the sandbox; in each episode, the seed is its index. */
export async function inSandbox(source: string, spec: EnvironmentSpec, episodes: Episodes): Promise<Actions> {
  const policy = (await openSandbox(spec)).build(source);
  return episodes.map((episode, seed) => episode.map(policy.forEpisode!(seed)));
}

export async function inModule(source: string, spec: EnvironmentSpec, episodes: Episodes): Promise<Actions> {
  const file = join(temporaryDirectory(), 'policy.mjs');
  writeFileSync(file, exportedProgram('js', source, spec, ['a test']));
  const { policy } = (await import(/* @vite-ignore */ pathToFileURL(file).href)) as {
    policy(seed: number): Policy;
  };
  return episodes.map((episode, seed) => {
    const act = policy(seed);
    return episode.map((observation) => act(observation));
  });
}

/** The actions of many programs in one Python process. */
export function inPython(
  sources: readonly string[],
  spec: EnvironmentSpec,
  episodes: Episodes,
): readonly Actions[] {
  const folder = temporaryDirectory();
  for (const [i, source] of sources.entries())
    writeFileSync(join(folder, `program${i}.py`), exportedProgram('python', source, spec, ['a test']));
  writeFileSync(join(folder, 'episodes.json'), JSON.stringify(episodes));
  const code = `import importlib, json, sys
sys.path.insert(0, '.')
episodes = json.load(open('episodes.json'))
for i in range(${sources.length}):
    module = importlib.import_module(f'program{i}')
    played = []
    for episode in episodes:
        act = module.policy()
        played.append([act(observation) for observation in episode])
    print(json.dumps(played))`;
  const text = execFileSync(python, ['-B', '-c', code], {
    cwd: folder,
    maxBuffer: 2 ** 28,
    encoding: 'utf8',
  });
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Actions);
}

export const cartPole = [
  'function act(observation) { return observation[2] + 0.5 * observation[3] > 0 ? 1 : 0; }',
  `// PD control
const constants = { kp: { value: 1.5, low: 0, high: 5 }, kd: 0.5, centre: -0.01 };
const clamp = (x, low = -1, high = 1) => Math.max(low, Math.min(high, x));
function act({ poleAngle, poleAngularVelocity, cartPosition: x }, memory, { kp, kd, centre }) {
  const force = kp * poleAngle + kd * poleAngularVelocity + centre * clamp(x);
  return force > 0 ? 1 : 0;
}`,
  `function act(observation, memory, constants) {
  memory.steps = (memory.steps || 0) + 1;
  memory.integral ??= 0;
  memory.integral += observation.poleAngle;
  memory.integral *= 0.99;
  if (memory.last === undefined) memory.last = 0;
  const rate = observation.poleAngle - memory.last;
  memory.last = observation.poleAngle;
  const u = 2 * observation.poleAngle + 10 * rate + 0.1 * memory.integral;
  if (Math.abs(u) < 0.01 && memory.steps % 2 === 0) return 0;
  return u >= 0 ? 1 : 0;
}`,
  `function act(observation, memory) {
  const weights = [0.1, 0.3, 1, 0.7];
  const score = observation.map((x, i) => x * weights[i]).reduce((a, b) => a + b, 0);
  return Number(score > 0);
}`,
  `function sigmoid(z) { return 1 / (1 + Math.exp(-z)); }
function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) { if (a[i] === 0) continue; sum += a[i] * b[i]; }
  return sum;
}
const act = (observation) => {
  const hidden = [[0.2, 0.5, 3, 1], [-1, 0, 1, 0.5]].map((row) => Math.tanh(dot(row, observation)));
  return sigmoid(dot(hidden, [1, 0.4])) > 0.5 ? 1 : 0;
};`,
  `function act(observation, memory) {
  const [x, v, angle, w] = observation;
  if (!memory.history) memory.history = [];
  memory.history.push(angle);
  if (memory.history.length > 5) memory.history.shift();
  const mean = memory.history.reduce((a, b) => a + b) / memory.history.length;
  const spread = Math.max(...memory.history) - Math.min(...memory.history);
  let action;
  if (spread > 0.2) { action = w > 0 ? 1 : 0; }
  else if (Math.abs(x) > 1) { action = x * v > 0 ? (angle > 0.02 ? 1 : 0) : (mean > 0 ? 1 : 0); }
  else action = mean + 0.3 * w > 0 ? 1 : 0;
  return action;
}`,
  `let count = 0, values = [0];
var phase = 'left';
function act(o, memory) {
  count += 1 + values[0];
  const key = \`\${Math.round(o[2] * 10)},\${Math.sign(o[3])}\`;
  memory[key] = (memory[key] ?? 0) + 1;
  if (count % 7 === 0) phase = phase === 'left' ? 'right' : 'left';
  if (memory[key] > 3 && !(key.includes('-'))) return phase === 'right' ? 1 : 0;
  return o[2] ** 2 / (o[3] % 1) > -0.01 || o[9] > 1 ? 1 : 0;
}`,
];

export const mountainCar = [
  'const act = ({ velocity }) => (velocity < 0 ? 0 : 2);',
  `function act(observation, memory, constants) {
  var position = observation[0], velocity = observation[1];
  var energy = Math.sin(3 * position) * 0.45 + 0.55 + 0.5 * velocity * velocity / 0.0025;
  if (position < -1.1) { return 2; }
  if (energy > 1 && velocity > 0) return 2;
  return velocity > 0 ? 2 : velocity < 0 ? 0 : 1;
}`,
  `const table = { left: 0, coast: 1, right: 2 };
function choose(position, velocity) {
  const bins = [-1, -0.5, 0];
  let bin = 0;
  while (bin < bins.length && position > bins[bin]) bin += 1;
  const plan = [['right', 'right'], ['left', 'right'], ['left', 'right'], ['coast', 'right']];
  return table[plan[bin][velocity >= 0 ? 1 : 0]];
}
function act(observation) { return choose(observation.position, observation.velocity); }`,
  `function act(observation, memory) {
  const { position, velocity } = observation;
  const low = memory.low === undefined || position < memory.low ? position : memory.low;
  memory.low = low;
  if (memory.mode == null) memory.mode = 'back';
  if (memory.mode === 'back' && low < -0.9) memory.mode = 'forth';
  for (const limit of [0.02, 0.04]) {
    if (velocity > limit) { memory.fast = limit; break; }
  }
  return memory.mode === 'back' ? (velocity <= 0 ? 0 : 2) : (memory.fast || 0) > 0.02 ? 2 : Math.floor(2.5);
}`,
  `function act(o) {
  const x = Math.floor((o[0] + 1.2) / 0.1), v = Math.trunc(o[1] * 100);
  const q = [0, 1, 2].map((a) => (a - 1) * v + (x > 15 ? a : -a) * 0.05 + Math.cos(3 * o[0]) * a);
  return q.indexOf(Math.max(...q));
}`,
  `const act = (o, m) => {
  m.n = m.n ? m.n + 1 : 1;
  m.seen = m.seen || {};
  const cell = Math.round(o[0] * 20);
  m.seen[cell]--;
  if (Number.isNaN(m.seen[cell])) m.seen[cell] = 5;
  const { length } = [...o, m.n];
  return (m.seen[cell] < 0 ? 0 : o[1] * length > 0 ? 2 : 1) || (m.n > 50 && o[1] >= 0 ? 2 : 0);
};`,
  `function oscillator() {
  let phase = 0;
  const next = () => { phase += 0.1; return Math.sin(phase); };
  function reset() { phase = 0; }
  return [next, reset];
}
function act(observation, memory) {
  memory.oscillator ||= oscillator();
  const [next, reset] = memory.oscillator;
  const s = next();
  if (s < -0.99) reset();
  const push = observation.velocity / 0.07 + 0.2 * s;
  return push > 1e-3 ? 2 : push < -1e-3 ? 0 : 1;
}`,
];

export const blackjack = [
  'const act = ([sum, card, ace]) => (sum < (ace ? 18 : card > 6 || card === 1 ? 17 : 13) ? 1 : 0);',
  `const goals = [[2, 3, 13], [4, 6, 12], [7, 10, 17]];
function act(observation, memory) {
  const { playerSum: sum, dealerCard: card, usableAce } = observation;
  let goal = 17;
  for (const [low, high, best] of goals) if (card >= low && card <= high) goal = best;
  memory.hits = usableAce === 1 && sum <= 18 ? (memory.hits ?? 0) + 1 : memory.hits;
  return sum < goal || memory.hits === 1 ? 1 : 0;
}`,
];

export const frozenLake = [
  `function act(observation) {
  const policy = [0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0];
  return policy[observation];
}`,
  `function act(state, memory) {
  const row = Math.floor(state / 4), col = state % 4;
  const holes = [5, 7, 11, 12];
  const moves = [[0, -1], [1, 0], [0, 1], [-1, 0]];
  let best = -Infinity, action = 0;
  for (let a = 0; a < 4; a++) {
    const [dr, dc] = moves[a];
    const r = Math.min(3, Math.max(0, row + dr)), c = Math.min(3, Math.max(0, col + dc));
    const next = r * 4 + c;
    if (holes.includes(next)) continue;
    const value = -(Math.abs(3 - r) + Math.abs(3 - c)) - 0.1 * a;
    if (value > best) { best = value; action = a; }
  }
  return action;
}`,
  `const map = { 0: 0, 1: 3, 2: 0, 3: 3, 6: 2, 8: 3, 9: 1, 10: 0, 13: 2, 14: 1 };
const act = (observation) => map[observation] ?? (observation >= 12 ? 2 : 1);`,
  `function act(observation, memory) {
  const list = 16, values$ = 'visits';
  if (!('visits' in memory)) memory[values$] = new Array(list).fill(0);
  memory.visits[observation]++;
  const name = 'state' + observation;
  memory[name] = !memory[name];
  if (memory.visits[observation] > 4 && observation !== 15) return memory.visits[observation] % 4;
  return memory[name] ? 2 : 1;
}`,
  `function act(s, memory) {
  if (s === 0) return 0;
  return 1;
}`,
  `function act(s, memory, constants) {
  // value iteration
  const around = (i) => [i % 4 ? i - 1 : i, i < 12 ? i + 4 : i, i % 4 < 3 ? i + 1 : i, i > 3 ? i - 4 : i];
  if (!memory.values) {
    let values = Array.from({ length: 16 }, (_, i) => (i === 15 ? 1 : 0));
    for (let sweep = 0; sweep < 20; sweep++) {
      values = values.map((v, i) =>
        [5, 7, 11, 12, 15].includes(i) ? v : 0.9 * Math.max(...around(i).map((n) => values[n])),
      );
    }
    memory.values = values;
  }
  return around(s).map((n) => memory.values[n]).reduce((best, v, i, all) => (v > all[best] ? i : best), 0);
}`,
  `const grid = 'SFFFFHFHFFFHHFFG';
function act(observation, memory) {
  memory.path = (memory.path || '') + String(observation) + ',';
  if (grid[observation + 1] === 'H' || grid[observation] == 'G') return 3;
  let j = memory.path.length, i = 0;
  while (true) { let i2 = 90; j = j > 99 ? j - i2 : j; break; }
  for (let k = 2; i < 2; i++, k--) { if (i > k) continue; j += i; }
  for (let k = 0; k < 2; ++k) j += k;
  return typeof memory.path === 'string' && j % 3 ? 2 : 1;
}`,
];
