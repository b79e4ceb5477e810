/**
 * Runs thousands of attacks, drawn from a seed, and prints a table of failures by kind. `npm run test:attacks` runs
 * 500 of each quick kind; `-- --count 5000 --seed 7 --kind bodies` changes count, seed and kind. Exits with 1 if any
 * attack failed.
 */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createGenerator } from '../../src/random/generator.js';
import { removeTemporaryDirectories } from '../../test/support/temporary-directory.js';
import { type AttackKind, shorten } from './attack.js';
import { damagedRuns } from './damaged.js';
import { fileKinds } from './files.js';
import { hub } from './hub.js';
import { lookingKinds } from './looking.js';
import { moduleKinds } from './modules.js';
import { policyPrograms } from './policy-programs.js';
import { programKinds } from './programs.js';
import { secrets } from './secrets.js';
import { slurm } from './slurm-scripts.js';
import { writers } from './writers.js';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '500' },
    seed: { type: 'string', default: '0' },
    kind: { type: 'string' },
  },
});

/** Uncaught errors, which would end an ordinary program. */
const escaped: string[] = [];
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (error: unknown) => escaped.push(`nobody caught ${shorten(String(error))}`));

interface Tally {
  readonly kind: string;
  readonly attacks: number;
  readonly failures: readonly string[];
  readonly slowestMs: number;
}

async function play(kind: AttackKind, seed: number, count: number): Promise<Tally> {
  const failures: string[] = [];
  let slowestMs = 0;
  say(`${kind.name} …`);
  const opened = await kind.open();
  const drawn = Math.max(1, Math.round((count * kind.percent) / 100));
  const attacks = opened === undefined ? 0 : Math.min(opened.cases ?? drawn, drawn);
  for (let n = 0; n < attacks; n++) {
    const started = performance.now();
    const random = createGenerator(seed * 1_000_003 + n);
    const wrong = await Promise.resolve(random)
      .then((own) => opened!.attack(own, Math.floor((n * (opened?.cases ?? attacks)) / attacks)))
      .catch(String);
    slowestMs = Math.max(slowestMs, performance.now() - started);
    for (const failure of [...(wrong === undefined ? [] : [wrong]), ...escaped.splice(0)])
      failures.push(`${kind.name} ${n}: ${failure}`);
  }
  await opened?.close?.();
  return { kind: kind.name, attacks, failures, slowestMs };
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const kinds = [
  ...[...fileKinds, ...programKinds, ...moduleKinds],
  ...[hub, slurm, secrets, writers, policyPrograms],
  ...[...lookingKinds, damagedRuns],
].filter(({ name }) => values.kind === undefined || name === values.kind);
const tallies: Tally[] = [];
for (const kind of kinds) {
  const tally = await play(kind, Number(values.seed), Number(values.count));
  tallies.push(tally);
  for (const failure of tally.failures.slice(0, 10)) say(failure);
}
removeTemporaryDirectories();
say('| kind | attacks | failures | slowest, ms |\n|---|---:|---:|---:|');
for (const { kind, attacks, failures, slowestMs } of tallies)
  say(`| ${kind} | ${attacks} | ${failures.length} | ${Math.round(slowestMs)} |`);
process.exitCode = tallies.some(({ failures }) => failures.length > 0) ? 1 : 0;
