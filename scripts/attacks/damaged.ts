/**
 * Damages runs systematically: replaces every file of a run, a play, a group of repeats, a study, a collection and a
 * training run with every kind of damage. Everything that reads it must answer within limits of time and memory.
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  cpSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { UserError } from '../../src/base/errors.js';
import { type Look, openLooks } from '../../test/attacks/looks.js';
import { played } from '../../test/play/playing.js';
import { runExperimentFrom } from '../../test/support/experiments.js';
import { temporaryDirectory } from '../../test/support/temporary-directory.js';
import { type AttackKind, faultOf, shorten } from './attack.js';

/** Damages a file: creates the replacement at its path. */
export type Damage = (file: string) => void;

/** Limits for a command. */
const mostSeconds = 5;
const mostBytes = 500 * 2 ** 20;

/** @param bytes length of the long line */
export function damagesIn(folder: string, bytes: number): Readonly<Record<string, Damage>> {
  const outside = join(folder, 'outside');
  mkdirSync(outside, { recursive: true });
  writeFileSync(join(outside, 'secret.jsonl'), '{"kind":"what-nobody-may-see"}\n');
  const long = join(outside, 'long');
  writeLongLine(long, bytes);
  return {
    'binary junk': (file) => writeFileSync(file, Buffer.from([0, 255, 254, 10, 123, 34, 0, 10, 128, 91])),
    'another JSON': (file) => writeFileSync(file, '{"a":[null,{"__proto__":1}]}\n[]\n0\n'),
    'deep JSON': (file) => writeFileSync(file, `${'['.repeat(100_000)}${']'.repeat(100_000)}\n`),
    nothing: (file) => writeFileSync(file, ''),
    'a link': (file) => symlinkSync(join(outside, 'secret.jsonl'), file),
    'a link to a device': (file) => symlinkSync('/dev/zero', file),
    'a link to itself': (file) => symlinkSync(file, file),
    'a pipe': (file) => void execFileSync('mkfifo', [file]),
    'a folder': (file) => mkdirSync(file),
    'a sparse file of 1 TB': (file) => {
      writeFileSync(file, '');
      truncateSync(file, 2 ** 40);
    },
    [`a line of ${bytes / 1e6} MB`]: (file) => linkSync(long, file),
  };
}

function writeLongLine(file: string, bytes: number): void {
  const descriptor = openSync(file, 'w');
  const part = Buffer.from(`{"iteration":0,"candidate":0,"kind":"${'x'.repeat(1_000_000)}`);
  for (let written = 0; written < bytes; written += part.length) writeSync(descriptor, part);
  writeSync(descriptor, '"}\n');
  closeSync(descriptor);
}

/** A fixture: the names to look at, and the folders whose files are damaged. */
interface Fixture {
  readonly name: string;
  readonly looked: readonly string[];
  readonly damaged: readonly string[];
}

/** Other files that a run, training run or study may contain. */
const extra: Readonly<Record<string, readonly string[]>> = {
  run: [
    ...['labels.json', 'question.json', 'control.jsonl', 'underway.jsonl', 'run.lock', 'imported.json'],
    ...['demonstrations.json', 'animations', 'report.html.new'],
  ],
  training: ['labels.json', 'training.lock', 'checkpoint.safetensors', 'control.jsonl', 'adapter'],
  study: ['changes.jsonl', 'sweep.lock', 'plan.json.new', 'judged.json'],
};

const training = {
  'training.json': JSON.stringify({
    ...{ method: 'lora', base: { model: '/models/m' }, dataset: { path: 'data' }, config: {} },
    outcome: { ended: 'complete', step: 2 },
  }),
  'metrics.jsonl':
    '{"kind":"start","step":0,"totalSteps":2}\n{"kind":"step","step":1,"loss":2}\n{"kind":"validation","step":2,"loss":1,"best":true}\n',
  'index.html': '<p>Its page</p>',
};

export async function writeFixtures(root: string): Promise<readonly Fixture[]> {
  const evaluation = { episodes: 2, maxSteps: 20, workers: 1 };
  const { path } = await runExperimentFrom({
    ...{ environment: 'CartPole-v1', model: { provider: 'random' }, iterations: 2, warmup: 2, evaluation },
    confirmation: { candidates: 1, episodes: 2 },
  });
  const at = (...names: readonly string[]) => join(root, ...names);
  cpSync(path, at('run', 'run'), { recursive: true });
  const game = await played('agents/cooking', ['episodes=1', 'player=random']);
  cpSync(game.path, at('play', 'play'), { recursive: true });
  for (const repeat of ['repeat-1', 'repeat-2'])
    cpSync(path, at('group', 'group', repeat), { recursive: true });
  cpSync(join(path, 'config.yaml'), at('group', 'group', 'config.yaml'));
  writeFileSync(
    at('group', 'group', 'group.json'),
    JSON.stringify({ version: 1, seeds: [0, 1], runs: ['repeat-1', 'repeat-2'] }),
  );
  cpSync(path, at('study', 'study', 'arm', 'repeat-1'), { recursive: true });
  writeFileSync(at('study', 'study', 'plan.json'), '{"version":1,"kind":"sweep"}');
  cpSync(path, at('collection', 'collection', 'one'), { recursive: true });
  writeFileSync(at('collection', 'collection', 'collection.json'), '{"version":1}');
  mkdirSync(at('training', 'training'), { recursive: true });
  for (const [name, text] of Object.entries(training)) writeFileSync(at('training', 'training', name), text);
  return [
    { name: 'run', looked: ['run'], damaged: ['run'] },
    { name: 'play', looked: ['play'], damaged: ['play'] },
    { name: 'group', looked: ['group', 'group/repeat-1'], damaged: ['group', 'group/repeat-2'] },
    { name: 'study', looked: ['study', 'study/arm/repeat-1'], damaged: ['study'] },
    { name: 'collection', looked: ['collection', 'collection/one'], damaged: ['collection'] },
    { name: 'training', looked: ['training'], damaged: ['training'] },
  ];
}

/** A file of a fixture, by its path below `buffers`. */
export interface Target {
  readonly fixture: Fixture;
  readonly file: string;
}

export function targetsIn(root: string, fixtures: readonly Fixture[]): readonly Target[] {
  return fixtures.flatMap((fixture) =>
    fixture.damaged.flatMap((folder) => {
      const own = readdirSync(join(root, fixture.name, folder), { withFileTypes: true });
      const files = own.filter((entry) => entry.isFile()).map(({ name }) => name);
      return [...new Set([...files, ...(extra[folder] ?? [])])].map((name) => ({
        fixture,
        file: `${folder}/${name}`,
      }));
    }),
  );
}

/** Damages one file and looks at it in every given way. Returns what went wrong. */
export async function attacked(
  { file, fixture }: Target,
  damage: Damage,
  { cwd, looks, root }: { readonly cwd: string; readonly root: string; readonly looks: readonly Look[] },
): Promise<string | undefined> {
  const wrong: string[] = [];
  const buffers = join(cwd, 'buffers');
  const prepare = () => {
    rmSync(buffers, { recursive: true, force: true });
    cpSync(join(root, fixture.name), buffers, { recursive: true });
    rmSync(join(buffers, file), { recursive: true, force: true });
    damage(join(buffers, file));
  };
  prepare();
  for (const { look, name } of looks) {
    const started = performance.now();
    const { rss } = process.memoryUsage();
    const { error, text } = await look();
    const seconds = (performance.now() - started) / 1000;
    const peak = 1024 * process.resourceUsage().maxRSS - rss;
    const fault = faultOfLook(name, text, error);
    if (seconds > mostSeconds) wrong.push(`${name}: ${seconds.toFixed(1)} s`);
    if (peak > mostBytes && 1024 * process.resourceUsage().maxRSS > highest)
      wrong.push(`${name}: ${Math.round(peak / 2 ** 20)} MiB`);
    highest = Math.max(highest, 1024 * process.resourceUsage().maxRSS);
    if (fault !== undefined) wrong.push(`${name}: ${fault}`);
    // These looks write into the directory, so restore it.
    if (/^(?:report|tag|note)/.test(name)) prepare();
  }
  return wrong.length === 0 ? undefined : `${fixture.name} ${file}: ${wrong.join('; ')}`;
}

let highest = 0;

const errorsOfSystem = (error: unknown) => error instanceof Error && 'syscall' in error;

function faultOfLook(name: string, text: string, error: unknown): string | undefined {
  if (text.includes('what-nobody-may-see')) return 'it shows what lies outside';
  if (error !== undefined && !(error instanceof UserError) && !errorsOfSystem(error))
    return `no UserError: ${shorten(error instanceof Error ? (error.stack ?? '') : String(error))}`;
  if (error instanceof UserError) return faultOf(error.message);
  if (name.startsWith('view'))
    return /^5\d\d /.test(text) ? shorten(text) : /^4\d\d /.test(text) ? faultOf(text) : undefined;
  return name.startsWith('MCP') && text.includes('"isError":true') ? faultOf(text.slice(0, 2000)) : undefined;
}

/** The usual looks run for every damage, the others in turn, and queries only for logs; all would take an hour. */
function isMade({ name }: Look, i: number, { file }: Target, n: number): boolean {
  if (/^(?:MCP )?query/.test(name)) return file.endsWith('.jsonl') && i % 3 === n % 3;
  return (
    /^(?:list .*true|show .*"json":true|view .*page\?of=[^&]*$|MCP show_run)/.test(name) || i % 5 === n % 5
  );
}

const longLine = 700e6;

export const damagedRuns: AttackKind = {
  name: 'damaged runs',
  percent: 300,
  async open() {
    const root = temporaryDirectory();
    const cwd = temporaryDirectory();
    const fixtures = await writeFixtures(root);
    const damages = Object.entries(damagesIn(temporaryDirectory(), longLine));
    const targets = targetsIn(root, fixtures);
    mkdirSync(join(cwd, 'buffers'));
    const { close, looksAt } = await openLooks(cwd);
    return {
      cases: targets.length * damages.length,
      async attack(_, n) {
        const target = targets[Math.floor(n / damages.length)]!;
        const [name, damage] = damages[n % damages.length]!;
        const looks = looksAt(target.fixture.looked).filter((look, i) => isMade(look, i, target, n));
        const wrong = await attacked(target, damage, { cwd, root, looks });
        return wrong === undefined ? undefined : `${name}: ${wrong}`;
      },
      close,
    };
  },
};
