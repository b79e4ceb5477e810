/**
 * Kills runs without warning at random points, resumes them, and compares what they are in the end with a run that
 * nothing happened to. `npm run test:kill -- --kills 200 --seed 1`, with `--built` those of `dist/`; a failure leaves the directories for inspection.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { packageRoot } from '../src/package-root.js';
import { formatParameters } from '../src/prompting/parameter-format.js';
import { createGenerator } from '../src/random.js';
import { readManifest, readRun } from '../src/recorded-run.js';
import type { RunEvent } from '../src/run-log.js';
import { startFakeOpenAI } from '../test/support/fake-openai.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    seed: { type: 'string', default: '0' },
    built: { type: 'boolean', default: false },
  },
});

const iterations = 40;
const config = `environment: CartPole-v1
model: { provider: openai, name: fake }
iterations: ${iterations}
candidates: 2
warmup: 5
evaluation: { episodes: 5, maxSteps: 200 }
confirmation: { candidates: 2, episodes: 30 }
`;

/** Compiled, it starts three times as fast; the source is never out of date. */
const cli = values.built
  ? [join(packageRoot(), 'dist', 'src', 'cli.js')]
  : ['--import', import.meta.resolve('tsx'), join(packageRoot(), 'src', 'cli.ts')];

function start(cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawn(process.execPath, [...cli, ...args, '--json'], {
    cwd,
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

interface Ended {
  readonly killed: boolean;
  /** The last iteration that it said was finished; 0 before the first. */
  readonly reported: number;
  /** From the first event to the end. */
  readonly milliseconds: number;
}

/**
 * Waits for the end of a command, or brings it about.
 * @param killAfter milliseconds after the first event
 * @throws Error when it ends by itself in any other way than well
 */
async function watch(child: ChildProcess, killAfter = Number.POSITIVE_INFINITY): Promise<Ended> {
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let [output, errors] = ['', ''];
  let first: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  child.stderr!.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  child.stdout!.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (first !== undefined) return;
    first = performance.now();
    if (killAfter !== Number.POSITIVE_INFINITY) timer = setTimeout(() => child.kill('SIGKILL'), killAfter);
  });
  const [code, signal] = await closed;
  clearTimeout(timer);
  const killed = signal === 'SIGKILL';
  if (!killed && code !== 0) throw new Error(`ended with ${code ?? signal}: ${errors}`);
  const finished = output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Partial<RunEvent>)
    .flatMap((event) => (event.kind === 'iteration-finished' ? [event.iteration!] : []));
  return { killed, reported: finished.at(-1) ?? 0, milliseconds: performance.now() - (first ?? 0) };
}

/** A run of a scripted model, now and then at odds with the format. */
async function record(cwd: string): Promise<void> {
  const server = await startFakeOpenAI({
    reply: ({ seed = 0, choice }) => {
      const random = createGenerator(seed, [choice]);
      const values = Array.from({ length: 10 }, () => Number(random.uniform(-6, 6).toFixed(1)));
      const answer = formatParameters(values, { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 });
      return random.random() < 0.2 ? answer.slice(0, 40) : answer;
    },
  });
  try {
    await watch(start(cwd, ['run', 'config.yaml', '--run-dir', 'recorded'], { OPENAI_BASE_URL: server.url }));
  } finally {
    await server.close();
  }
}

/** What must not depend on whether a run was killed: everything but when it was, and that it was. */
function resultOf(path: string): Readonly<Record<string, unknown>> {
  const {
    run: _run,
    created: _created,
    updated: _updated,
    activeMs: _active,
    // With the commit, where something is committed meanwhile.
    versions: _versions,
    ...manifest
  } = readManifest(path);
  const { calls, events } = readRun(path);
  const outlasting = events.filter(({ kind }) => kind === 'iteration-finished' || kind === 'warning');
  return {
    'config.yaml': readFileSync(join(path, 'config.yaml'), 'utf8'),
    'evaluations.jsonl': readFileSync(join(path, 'evaluations.jsonl'), 'utf8'),
    'episodes.jsonl': readFileSync(join(path, 'episodes.jsonl'), 'utf8'),
    'manifest.json': manifest,
    // Calls of a group come in any order.
    'calls.jsonl': calls
      .map(({ time: _, ...call }) => call)
      .toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate || a.attempt - b.attempt),
    'events.jsonl': [...outlasting, events.at(-1)!].map(({ time: _, ...event }) => event),
  };
}

function requireSame(path: string, expected: Readonly<Record<string, unknown>>): void {
  const result = resultOf(path);
  const different = Object.keys(expected).filter((file) => !isDeepStrictEqual(result[file], expected[file]));
  if (different.length > 0) throw new Error(`${path}: not as without kills: ${different.join(', ')}`);
}

const kills = Number(values.kills);
const random = createGenerator(Number(values.seed));
const cwd = mkdtempSync(join(tmpdir(), 'policyloop-kills-'));
const started = performance.now();
process.stdout.write(`${kills} kills in ${cwd}\n`);

writeFileSync(join(cwd, 'config.yaml'), config);
await record(cwd);
const replay = ['config.yaml', 'model.provider=replayed', 'model.run=recorded'];
const whole = await watch(start(cwd, ['run', ...replay, '--run-dir', 'whole']));
const expected = resultOf(join(cwd, 'whole'));

let done = 0;
let runs = 0;
/** Completed iterations on disk after each kill, and those that had been there, or had been told of, and were not. */
let [found, lost] = [0, 0];
/** Where the kills came. */
const places = { 'in the warm-up': 0, 'between iterations': 0, 'after the last': 0 };
while (done < kills) {
  const name = `killed-${++runs}`;
  const path = join(cwd, name);
  let completed = 0;
  let args = ['run', ...replay, '--run-dir', name];
  for (;;) {
    const delay = done < kills ? random.uniform(0, whole.milliseconds) : Number.POSITIVE_INFINITY;
    const { killed, reported } = await watch(start(cwd, args), delay);
    const now = readRun(path).iteration;
    lost += Math.max(0, Math.max(completed, reported) - now);
    completed = now;
    if (!killed) break;
    found += now;
    done++;
    places[now === 0 ? 'in the warm-up' : now < iterations ? 'between iterations' : 'after the last']++;
    // Killed with nothing left to do but the report, or in the middle of that.
    if (readManifest(path).status === 'completed') break;
    args = ['resume', name, '--runs-dir', '.'];
  }
  requireSame(path, expected);
  rmSync(path, { recursive: true });
  process.stdout.write(`${name}: as without kills; ${done} of ${kills} kills\n`);
}
const where = Object.entries(places).map(([place, count]) => `${count} ${place}`);
process.stdout.write(
  `${done} kills (${where.join(', ')}) of ${runs} runs in ${((performance.now() - started) / 1000).toFixed(0)} s: ` +
    `${lost} of ${found} completed iterations lost; every run ended as the uninterrupted one, byte for byte\n`,
);
if (lost > 0) process.exitCode = 1;
else rmSync(cwd, { recursive: true });
