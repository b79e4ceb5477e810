/** Shared code of the suites that kill runs or make their disk fail: child processes, their exits and results. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { isDeepStrictEqual } from 'node:util';
import { parse } from 'yaml';
import { packageRoot } from '../src/base/package.js';
import { createGenerator } from '../src/base/random/generator.js';
import { formatParameters } from '../src/prompting/notation/grammar.js';
import type { RunEvent } from '../src/runs/events.js';
import { readManifest, readRun } from '../src/runs/reader.js';
import { type OpenAIReply, type OpenAIRequest, startFakeOpenAI } from '../test/support/fake-openai.js';

/**
 * Starts `policyloop … --json`, from the sources or from `dist/`. Compiled commands start three times as fast; the
 * sources are never out of date.
 */
export function starter(cwd: string, built: boolean) {
  const cli = built
    ? [join(packageRoot(), 'dist', 'src', 'cli.js')]
    : ['--import', import.meta.resolve('tsx'), join(packageRoot(), 'src', 'cli.ts')];
  return (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
    nodeArguments: readonly string[] = [],
  ) =>
    spawn(process.execPath, [...nodeArguments, ...cli, ...args, '--json'], {
      cwd,
      env: { PATH: process.env.PATH, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
}

export interface Ended {
  readonly killed: boolean;
  /** Exit code; null if the process was killed. */
  readonly code: number | null;
  readonly errors: string;
  /** The last iteration reported as finished; 0 before the first. */
  readonly reported: number;
  /** Duration from the first event to the end. */
  readonly milliseconds: number;
}

/**
 * Waits for a command to end, or kills it.
 * @param killAfter milliseconds after the first event
 */
export async function ending(child: ChildProcess, killAfter = Number.POSITIVE_INFINITY): Promise<Ended> {
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
  const finished = output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Partial<RunEvent>)
    .flatMap((event) => (event.kind === 'iteration-finished' ? [event.iteration!] : []));
  return {
    killed: signal === 'SIGKILL',
    code,
    errors,
    reported: finished.at(-1) ?? 0,
    milliseconds: performance.now() - (first ?? 0),
  };
}

/** @throws Error if the command fails without having been killed */
export async function watch(child: ChildProcess, killAfter?: number): Promise<Ended> {
  const ended = await ending(child, killAfter);
  if (!ended.killed && ended.code !== 0) throw new Error(`ended with ${ended.code}: ${ended.errors}`);
  return ended;
}

/** Starts a server whose scripted model proposes ten parameters and sometimes violates the format. */
export const startScriptedServer = () =>
  startFakeOpenAI({
    reply: ({ seed = 0, choice }: OpenAIRequest): OpenAIReply => {
      const random = createGenerator(seed, [choice]);
      const values = Array.from({ length: 10 }, () => Number(random.uniform(-6, 6).toFixed(1)));
      const answer = formatParameters(values, { count: 10, kind: 'float', low: -6, high: 6, decimals: 1 });
      return random.random() < 0.2 ? answer.slice(0, 40) : answer;
    },
  });

export type Result = Readonly<Record<string, unknown>>;

/**
 * Reads everything in a run that must not depend on kills: all but times, durations, kills and lost calls.
 */
export function resultOf(path: string): Result {
  const {
    run: _run,
    created: _created,
    updated: _updated,
    activeMs: _active,
    // Contains the commit, which may change during the test.
    versions: _versions,
    usage,
    ...manifest
  } = readManifest(path);
  const { calls: all, events } = readRun(path);
  const calls = all.filter(({ outcome }) => outcome.kind !== 'error' || outcome.error !== 'aborted');
  const lastingEvents = [
    ...events.filter(({ kind }) => kind === 'iteration-finished' || kind === 'warning'),
    events.at(-1)!,
  ].map((event) => ('usage' in event ? { ...event, usage: undefined } : event));
  return {
    // A resumed run writes the same settings in another order.
    'config.yaml': parse(readFileSync(join(path, 'config.yaml'), 'utf8')),
    'evaluations.jsonl': readFileSync(join(path, 'evaluations.jsonl'), 'utf8'),
    'episodes.jsonl': readFileSync(join(path, 'episodes.jsonl'), 'utf8'),
    'manifest.json': timeless(manifest),
    // Usage includes lost calls, so compare it only if none was lost.
    ...(calls.length === all.length && { usage: timeless(usage) }),
    // The calls of a group finish in any order.
    'calls.jsonl': calls
      .map(({ time: _, ...call }) => timeless(call) as typeof call)
      .toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate || a.attempt - b.attempt),
    'events.jsonl': lastingEvents.map(({ time: _, lines: __, ...event }) => timeless(event)),
  };
}

/** Drops the durations of calls and the numbers of cached tokens. */
const timeless = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, part) => (/^(latencyMs|cachedTokens)$/.test(key) ? undefined : part)),
  );

export function requireSame(path: string, expected: Result): void {
  const result = resultOf(path);
  const different = Object.keys(result).filter((file) => !isDeepStrictEqual(result[file], expected[file]));
  if (different.length > 0)
    throw new Error(`${path}: differs from an undisturbed run: ${different.join(', ')}`);
}
