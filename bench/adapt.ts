/**
 * Measures learning while searching: the embedded model with and without `adapt`, on the same tasks, seeds and number of
 * evaluations. Rows are appended to a file, and it goes on where it stopped.
 *
 *   node dist/bench/adapt.js choose [minutes]   settings, on synthetic tasks; then choose-again, on other ones
 *   node dist/bench/adapt.js measure [minutes]  the chosen ones beside the model as it is, on other tasks
 *   node dist/bench/adapt.js table              paired differences of what was measured
 */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { packageRoot } from '../src/base/package.js';
import { type ConfigInput, run } from '../src/index.js';
import { readManifest, readRun } from '../src/runs/reader.js';
import { mean, meanInterval95 } from '../src/statistics/descriptive.js';

type Task = Pick<ConfigInput, 'environment' | 'policy' | 'evaluation'>;
type Arm = NonNullable<ConfigInput['adapt']> | undefined;

interface Plan {
  readonly file: string;
  readonly seeds: number;
  readonly tasks: Readonly<Record<string, Task>>;
  readonly arms: Readonly<Record<string, Arm>>;
}

/** A run: what it reached, and the time that it took. */
interface Row {
  readonly task: string;
  readonly seed: number;
  readonly arm: string;
  readonly evaluations: number;
  /** Best mean return after a quarter, a half, three quarters and all of the iterations. */
  readonly best: readonly number[];
  /** Mean return of the candidates of the first and of the last third of the iterations. */
  readonly early: number;
  readonly late: number;
  /** Mean return of the best policy on fresh episodes. */
  readonly confirmed: number;
  /** Share of replies that could be read at once. */
  readonly valid: number;
  readonly flat?: number;
  readonly updates?: number;
  readonly seconds: number;
  readonly trainingSeconds: number;
}

const rows = (name: string) => join(packageRoot(), 'bench', 'rows', name);

const common = {
  model: { provider: 'local', format: 'constrained', threads: 1, device: 'cpu' },
  prompts: { set: 'compact' },
  memory: { best: 8, recent: 4 },
  warmup: 4,
  iterations: 12,
  candidates: 8,
  confirmation: { candidates: 1, episodes: 50 },
  record: 'none',
} as const;

const synthetic = (family: string, seed: number): Task => ({
  environment: { id: `synthetic:${family}`, options: { seed } },
  evaluation: { episodes: 3 },
});

const learning = (kind: 'grpo' | 'imitation', learningRate: number) => ({
  objective: { kind },
  learningRate,
});
const gains = { kind: 'improvement', gainsOnly: true } as const;

const plans: Readonly<Record<'choose' | 'choose-again' | 'measure', Plan>> = {
  'choose-again': {
    file: rows('adapt-choice-2.jsonl'),
    seeds: 5,
    tasks: {
      regulate: synthetic('regulate', 112),
      locomote: synthetic('locomote', 106),
      landscape: synthetic('landscape', 113),
      mdp: synthetic('mdp', 107),
      pump: synthetic('pump', 114),
    },
    arms: {
      plain: undefined,
      'grpo 3e-3': learning('grpo', 3e-3),
      'imitation 3e-3': learning('imitation', 3e-3),
      'grpo gains 1e-3': { ...learning('grpo', 1e-3), reward: gains },
    },
  },
  choose: {
    file: rows('adapt-choice.jsonl'),
    seeds: 6,
    tasks: {
      landscape: synthetic('landscape', 101),
      regulate: synthetic('regulate', 102),
      reach: synthetic('reach', 103),
      pump: synthetic('pump', 104),
      survival: synthetic('survival', 105),
    },
    arms: {
      plain: undefined,
      'grpo 3e-4': learning('grpo', 3e-4),
      'grpo 1e-3': learning('grpo', 1e-3),
      'grpo 3e-3': learning('grpo', 3e-3),
      'imitation 3e-4': learning('imitation', 3e-4),
      'imitation 1e-3': learning('imitation', 1e-3),
      'imitation 3e-3': learning('imitation', 3e-3),
    },
  },
  measure: {
    file: rows('adapt.jsonl'),
    seeds: 20,
    tasks: {
      'CartPole-v1': { environment: 'CartPole-v1', evaluation: { episodes: 3 } },
      'MountainCarContinuous-v0': { environment: 'MountainCarContinuous-v0', evaluation: { episodes: 3 } },
      'Acrobot-v1': { environment: 'Acrobot-v1', evaluation: { episodes: 3 } },
      'Pendulum-v1': { environment: 'Pendulum-v1', evaluation: { episodes: 3 } },
      'FrozenLake-v1': { environment: 'FrozenLake-v1', evaluation: { episodes: 20 } },
      'InvertedPendulum-v5': { environment: 'InvertedPendulum-v5', evaluation: { episodes: 3 } },
    },
    arms: { plain: undefined, adapt: learning('grpo', 3e-3) },
  },
};

async function play(task: Task, arm: Arm, seed: number): Promise<Omit<Row, 'task' | 'seed' | 'arm'>> {
  const folder = mkdtempSync(join(tmpdir(), 'adapt-'));
  const directory = join(folder, 'run');
  try {
    await run({ ...common, ...task, seed, ...(arm && { adapt: arm }) }, { directory });
    const { calls, entries, events } = readRun(directory);
    const { activeMs, confirmations } = readManifest(directory);
    const { iterations } = common;
    const upTo = (iteration: number) =>
      Math.max(...entries.filter((entry) => entry.iteration <= iteration).map(({ score }) => score));
    const between = (from: number, to: number) =>
      mean(entries.filter(({ iteration }) => iteration > from && iteration <= to).map(({ score }) => score));
    const adapted = events.flatMap((event) =>
      event.kind === 'iteration-finished' && event.adapted ? [event.adapted] : [],
    );
    const first = calls.filter(({ attempt }) => attempt === 0);
    return {
      evaluations: entries.length,
      best: [0.25, 0.5, 0.75, 1].map((share) => upTo(share * iterations)),
      early: between(0, Math.floor(iterations / 3)),
      late: between(iterations - Math.floor(iterations / 3), iterations),
      confirmed: confirmations.at(-1)?.mean ?? Number.NaN,
      valid: mean(first.map(({ outcome }) => (outcome.kind === 'accepted' ? 1 : 0))),
      ...(adapted.length > 0 && { flat: mean(adapted.map(({ flat }) => flat)), updates: adapted.length }),
      seconds: activeMs / 1000,
      trainingSeconds: adapted.reduce((sum, { seconds }) => sum + seconds, 0),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const readRows = (file: string): readonly Row[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Row)
    : [];

/** Seeds are the outer loop, so that what there is after any time is balanced. */
async function playAll({ arms, file, seeds, tasks }: Plan, minutes: number): Promise<void> {
  const end = performance.now() + 60_000 * minutes;
  const key = ({ arm, seed, task }: Pick<Row, 'arm' | 'seed' | 'task'>) => `${task}/${seed}/${arm}`;
  const done = new Set(readRows(file).map(key));
  for (let seed = 0; seed < seeds; seed++) {
    for (const [task, of] of Object.entries(tasks)) {
      for (const [arm, settings] of Object.entries(arms)) {
        if (done.has(key({ arm, seed, task }))) continue;
        if (performance.now() > end) return;
        const row: Row = { task, seed, arm, ...(await play(of, settings, seed)) };
        appendFileSync(file, `${JSON.stringify(row)}\n`);
      }
    }
  }
}

const rounded = (value: number) => Number(value.toPrecision(4));

/** Each arm beside the model as it is: the share of pairs that it wins, ties half, and differences by task. */
function table({ file, arms }: Plan): void {
  const all = readRows(file);
  const plain = new Map(
    all.filter(({ arm }) => arm === 'plain').map((row) => [`${row.task}/${row.seed}`, row]),
  );
  for (const arm of Object.keys(arms).filter((name) => name !== 'plain')) {
    const pairs = all.flatMap((row) => {
      const other = plain.get(`${row.task}/${row.seed}`);
      return row.arm === arm && other ? [{ row, other }] : [];
    });
    if (pairs.length < 2) continue;
    const measures = {
      confirmed: ({ confirmed }: Row) => confirmed,
      'best so far, mean over the run': ({ best }: Row) => mean(best),
      'candidates of the last third': ({ late }: Row) => late,
    };
    for (const [name, of] of Object.entries(measures)) {
      const wins = pairs.map(({ row, other }) => (Math.sign(of(row) - of(other)) + 1) / 2);
      const [low, high] = meanInterval95(wins);
      process.stdout.write(
        `${arm} | ${name} | wins ${rounded(mean(wins))} [${rounded(low)}, ${rounded(high)}] of ${pairs.length}\n`,
      );
      for (const task of new Set(pairs.map(({ row }) => row.task))) {
        const own = pairs.filter(({ row }) => row.task === task);
        const differences = own.map(({ row, other }) => of(row) - of(other));
        const interval = differences.length > 1 ? meanInterval95(differences) : [Number.NaN, Number.NaN];
        process.stdout.write(
          `  ${task}: ${rounded(mean(own.map(({ other }) => of(other))))} → ${rounded(mean(own.map(({ row }) => of(row))))}, ` +
            `difference ${rounded(mean(differences))} [${interval.map((value) => rounded(value!)).join(', ')}], ${own.length} seeds\n`,
        );
      }
    }
    const of = (pick: (row: Row) => number) => rounded(mean(pairs.map(({ row }) => pick(row))));
    process.stdout.write(
      `${arm} | seconds ${of(({ seconds }) => seconds)}, of them training ${of(({ trainingSeconds }) => trainingSeconds)}; ` +
        `as it is ${rounded(mean(pairs.map(({ other }) => other.seconds)))}; flat groups ${of(({ flat }) => flat ?? 0)}\n`,
    );
  }
}

const [what = 'measure', minutes = '60'] = process.argv.slice(2);
if (what === 'table') for (const plan of Object.values(plans)) table(plan);
else await playAll(plans[what as keyof typeof plans], Number(minutes));
