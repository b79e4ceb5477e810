import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../src/base/package.js';
import { readManifest, readRun } from '../src/runs/reader.js';
import { unloggedCalls } from '../src/runs/writer.js';
import { isReported } from '../src/studies/resume.js';
import type { Suite } from './kill-at-random.js';
import {
  type Ended,
  ending,
  requireSame,
  resultOf,
  starter,
  startScriptedServer,
  watch,
} from './killed-runs.js';

type Kind = 'before' | 'torn' | 'ENOSPC' | 'EROFS';

interface Fault {
  /** A live server, whose requests are counted, or a replayed model. */
  readonly model: 'live' | 'replayed';
  readonly kind: Kind;
  /** Number of the change to the run's files that fails, from 1. */
  readonly at: number;
}

const config = `environment: CartPole-v1
model: { provider: openai, name: fake }
iterations: 3
candidates: 1
warmup: 2
evaluation: { episodes: 2, maxSteps: 50 }
confirmation: { candidates: 2, episodes: 5 }
`;

const injection = pathToFileURL(join(packageRoot(), 'scripts', 'fault-injection.mjs')).href;

/**
 * Breaks a short run at its writes, resumes it, and compares it with an undisturbed run. Every third killed run is
 * killed again while it resumes. A recorded call must not be repeated; any other call may be repeated once.
 * @param count number of faults to draw; if there are fewer, all are used
 * @throws Error if a run ends differently, loses an iteration, repeats a recorded call, or reports its failure
 * unclearly
 */
export async function breakAtBoundaries({ cwd, built, random, say }: Suite, count: number): Promise<void> {
  const start = starter(cwd, built);
  const started = performance.now();
  writeFileSync(join(cwd, 'short.yaml'), config);
  const server = await startScriptedServer();
  const env = { OPENAI_BASE_URL: server.url };
  const grouped = ['short.yaml', 'candidates=2'];
  const log = join(cwd, 'changes.log');
  const withFault = (args: readonly string[], path: string, kind: string, at: number) => {
    const fault = { FAULT_ROOT: path, FAULT_KIND: kind, FAULT_AT: String(at), FAULT_LOG: log };
    rmSync(log, { force: true });
    return ending(start(args, { ...env, ...fault }, ['--import', injection]));
  };
  /** The changes that an undisturbed run makes to its files, and its result. */
  const undisturbed = async (args: readonly string[], name: string) => {
    const path = join(cwd, name);
    const ended = await withFault(['run', ...args, '--run-dir', name], path, 'none', 0);
    if (ended.code !== 0) throw new Error(`ended with ${ended.code}: ${ended.errors}`);
    return { expected: resultOf(path), changes: readFileSync(log, 'utf8').trimEnd().split('\n') };
  };
  try {
    await watch(start(['run', ...grouped, '--run-dir', 'short-recorded'], env));
    const models = {
      live: ['short.yaml'],
      replayed: [...grouped, 'model.provider=replayed', 'model.run=short-recorded'],
    };
    const references = {
      live: await undisturbed(models.live, 'short-live'),
      replayed: await undisturbed(models.replayed, 'short-replayed'),
    };
    const faults = (['live', 'replayed'] as const).flatMap((model) =>
      references[model].changes.flatMap((change, i): Fault[] => {
        const kinds: Kind[] = ['before'];
        if (/ (write|append)/.test(change)) kinds.push('torn');
        if (model === 'replayed') kinds.push('EROFS');
        if (model === 'replayed' && / (write|append|open|mkdir|link|fsync|fdatasync)/.test(change))
          kinds.push('ENOSPC');
        return kinds.map((kind) => ({ model, kind, at: i + 1 }));
      }),
    );
    const drawn =
      count < faults.length
        ? faults
            .map((fault) => ({ fault, key: random.random() }))
            .toSorted((a, b) => a.key - b.key)
            .slice(0, count)
            .map(({ fault }) => fault)
        : faults;
    say(`${drawn.length} of ${faults.length} faults`);
    const tally = { killed: 0, refused: 0, endured: 0, 'killed again': 0, 'asked once more': 0 };
    for (const [i, fault] of drawn.entries()) {
      const name = `broken-${i + 1}`;
      const path = join(cwd, name);
      const args = models[fault.model];
      const change = references[fault.model].changes[fault.at - 1]!;
      const label = `${fault.model}, ${fault.kind} ${change}`;
      try {
        const before = server.requests.length;
        let ended = await withFault(['run', ...args, '--run-dir', name], path, fault.kind, fault.at);
        requireExplained(fault, ended, path);
        tally[ended.killed ? 'killed' : ended.code === 0 ? 'endured' : 'refused']++;
        const kept = requireKept(path, 0, ended);
        const asked = server.requests.length;
        if (fault.model === 'replayed' && ended.killed && i % 3 === 0 && isOpen(path)) {
          // Resuming writes less than the run did.
          const at = random.integers(1, Math.ceil(references.replayed.changes.length / 2));
          ended = await withFault(commandFor(path, name, args), path, 'torn', at);
          requireKept(path, kept, ended);
          if (ended.killed) tally['killed again']++;
        }
        const recorded = new Set(isRun(path) ? answersOf(path) : []);
        if (isOpen(path)) await watch(start(commandFor(path, name, args), env));
        const seeds = server.requests.map(({ body }) => body.seed as number);
        tally['asked once more'] += requirePaidOnce(seeds.slice(before, asked), seeds.slice(asked), recorded);
        requireSame(path, references[fault.model].expected);
        requireTidy(path);
      } catch (error) {
        throw new Error(`${path} (${label})`, { cause: error });
      }
      rmSync(path, { recursive: true });
      if ((i + 1) % 25 === 0) say(`${i + 1} of ${drawn.length} faults`);
    }
    const outcomes = Object.entries(tally).map(([outcome, number]) => `${number} ${outcome}`);
    say(
      `${drawn.length} faults (${outcomes.join(', ')}) in ${((performance.now() - started) / 1000).toFixed(0)} s: ` +
        'no completed iteration was lost, no recorded call was repeated; every run ended like an undisturbed one, byte for byte',
    );
  } finally {
    await server.close();
  }
}

const isRun = (path: string) => existsSync(join(path, 'manifest.json'));
const isOpen = (path: string) => {
  if (!isRun(path)) return true;
  const manifest = readManifest(path);
  return manifest.status !== 'completed' || !isReported(path);
};

/** Seeds of the calls whose replies are on disk, whether or not they were processed. */
function answersOf(path: string): readonly number[] {
  const { calls } = readRun(path);
  return [...calls, ...unloggedCalls(path, calls)].flatMap(({ outcome, seed }) =>
    outcome.kind === 'error' ? [] : [seed],
  );
}

/** @throws Error if a completed run lacks its report, or contains a lock or a draft */
function requireTidy(path: string): void {
  const names = readdirSync(path);
  const left = names.filter((name) => /lock|\.new$|\.tmp$|underway/.test(name));
  if (left.length > 0 || !names.includes('report.html')) throw new Error(`contains ${names.join(', ')}`);
}

const commandFor = (path: string, name: string, args: readonly string[]) =>
  isRun(path) ? ['resume', name, '--runs-dir', '.'] : ['run', ...args, '--run-dir', name];

/** Requires that a disk error is explained in a few lines that name the file; a killed process prints nothing. */
function requireExplained({ kind }: Fault, { killed, code, errors }: Ended, path: string): void {
  if (kind === 'before' || kind === 'torn') {
    if (!killed) throw new Error(`was not killed, but ended with ${code}: ${errors}`);
    return;
  }
  if (code === 0) return;
  const clear = errors.includes(path) && errors.includes(kind) && errors.includes('hint: ');
  if (!clear || /unexpected error|^ +at /m.test(errors) || errors.split('\n').length > 12)
    throw new Error(`unclear message: ${errors}`);
}

/** @returns the completed iterations on disk */
function requireKept(path: string, earlier: number, { reported }: Ended): number {
  const now = isRun(path) ? readRun(path).iteration : 0;
  if (now < Math.max(earlier, reported))
    throw new Error(`${now} completed iterations, but there were ${Math.max(earlier, reported)}`);
  return now;
}

/**
 * @param first seeds of the requests up to the fault; each call has its own seed
 * @param later seeds of the requests after it
 * @param recorded seeds of the calls that were on disk after the fault
 * @returns the number of calls that were requested twice
 */
function requirePaidOnce(
  first: readonly number[],
  later: readonly number[],
  recorded: ReadonlySet<number>,
): number {
  for (const seeds of [first, later]) {
    if (new Set(seeds).size < seeds.length) throw new Error('one process requested a call twice');
  }
  const again = later.find((seed) => recorded.has(seed));
  if (again !== undefined) throw new Error(`the recorded call of seed ${again} was requested again`);
  return later.filter((seed) => first.includes(seed)).length;
}
