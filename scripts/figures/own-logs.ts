/**
 * Computes the figures of docs/results/own-logs.md: models before and after training on their own logs.
 * Run: npx tsx scripts/figures/own-logs.ts
 */
import { join } from 'node:path';
import process from 'node:process';
import type { Arm } from '../../finetune/evaluate/arms.js';
import { evaluate } from '../../finetune/evaluate/evaluate.js';
import type { EvaluatedRun } from '../../finetune/evaluate/evaluation.js';
import { evaluationTables } from '../../finetune/evaluate/tables.js';
import { groupBy } from '../../src/base/grouped.js';
import { packageRoot } from '../../src/base/package.js';
import { plural } from '../../src/base/text/numbers.js';
import { loadConfig } from '../../src/config/load.js';
import { median, sum } from '../../src/statistics/descriptive.js';
import { readRows, tableOf } from './rows.js';

/** A run as in `evaluation.json`, without its path and learning curve. */
interface Row extends Omit<EvaluatedRun, 'path' | 'figures'> {
  readonly model: string;
  readonly seed: number;
  readonly figures: Omit<NonNullable<EvaluatedRun['figures']>, 'curve'>;
}

const arms = ['base', 'tuned', 'gp'] as const;
const trainedOn = ['Acrobot-v1', 'MountainCarContinuous-v0', 'Pendulum-v1'];
const configOf = (name: string) =>
  loadConfig({ file: join(packageRoot(), 'examples', 'real-model', 'tasks', `${name}.yaml`) }).config;
const print = (text: string) => process.stdout.write(`${text}\n`);

for (const [model, rows] of groupBy(readRows<Row>('own-logs'), (row) => row.model)) {
  const experiments = [...groupBy(rows, ({ experiment }) => experiment)];
  const seeds = [...new Set(rows.map(({ seed }) => seed))];
  const evaluation = evaluate(
    {
      arms: arms.map((name): Arm => ({ name, label: name, provider: 'local', overrides: [], hash: null })),
      experiments: experiments.map(([name]) => ({ name, configs: { base: configOf(name) } })),
      seeds,
    },
    rows.map((row) => ({ ...row, path: '', figures: { ...row.figures, curve: [] } })),
    { kind: 'lineage', environments: trainedOn },
  );
  print(`\n${model}, ${plural(seeds.length, 'seed')}\n\n${evaluationTables(evaluation)}\n`);
  const ofArm = (of: readonly Row[], arm: string) =>
    of.flatMap(({ figures, ...row }) => (row.arm === arm ? [figures] : []));
  const share = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
  const totals = (key: 'improvements' | 'repeated' | 'proposals', arm: string) =>
    sum(ofArm(rows, arm).map((figures) => figures[key]));
  print(
    tableOf(
      ['', ...arms],
      [
        ...experiments.map(([name, own]) => [
          `${name}, median`,
          ...arms.map((arm) =>
            median(ofArm(own, arm).flatMap(({ confirmed }) => confirmed ?? [])).toFixed(1),
          ),
        ]),
        ...(['improvements', 'repeated'] as const).map((key) => [
          key,
          ...arms.map((arm) => share(totals(key, arm), totals('proposals', arm))),
        ]),
      ],
    ),
  );
}
