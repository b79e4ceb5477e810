/**
 * Computes two tables of docs/results/reinforcement.md: CartPole as text with one config, and the speed compared with TRL.
 * Run: npm run figures -- --page
 */
import type { SpeedRow } from '../../bench/reinforcement.js';
import { groupBy } from '../../src/base/grouped.js';
import { interval95, meanInterval95 } from '../../src/statistics/bootstrap.js';
import { largest, mean, smallest } from '../../src/statistics/descriptive.js';
import { publish, readRows, tableOf } from './rows.js';

/** The 50 fresh episodes of a player. */
interface Played {
  readonly who: string;
  /** Seed of the training run, with its chosen update and that update's mean length in the held-out episodes. */
  readonly seed?: number;
  readonly update?: number;
  readonly heldOut?: number;
  readonly lengths: readonly number[];
}

export const played = readRows<Played>('cartpole-one-config');

const withInterval = (value: number, [low, high]: readonly [number, number], digits: number) =>
  `${value.toFixed(digits)} [${low.toFixed(digits)}, ${high.toFixed(digits)}]`;

const lines = played.map(({ heldOut, lengths, seed, update, who }) => [
  seed === undefined ? who : `${who}, seed ${seed}`,
  update === undefined ? '–' : `${update}`,
  heldOut === undefined ? '–' : heldOut.toFixed(0),
  withInterval(mean(lengths), meanInterval95(lengths, [1, 500], 'student')!, seed === undefined ? 1 : 0),
]);
const trained = played.filter(({ seed }) => seed !== undefined).map(({ lengths }) => mean(lengths));
const overSeeds = `Over the three seeds: ${withInterval(mean(trained), interval95([{ values: trained }])!, 0)} (Student's t).`;

const speeds = (row: SpeedRow) => [
  row.sampledTokens / row.samplingSeconds,
  row.trainedTokens / row.updateSeconds,
];

/** Quotients of a contender's speed and TRL's in the same turn: their mean and range. */
function timesTrl(own: readonly SpeedRow[], trl: readonly SpeedRow[], of: 0 | 1): string {
  const quotients = own.map(
    (row) => speeds(row)[of]! / speeds(trl.find(({ turn }) => turn === row.turn)!)[of]!,
  );
  return `${mean(quotients).toFixed(2)} × (${smallest(quotients).toFixed(2)} to ${largest(quotients).toFixed(2)})`;
}

const measured = groupBy(
  readRows<SpeedRow>('rl-speed'),
  ({ model, prompts, turns }) => `${model}|${prompts}|${turns}`,
);
const speedLines = [...measured.values()].flatMap((all) => {
  const trl = all.filter(({ by }) => by === 'TRL');
  return [...groupBy(all, ({ by }) => by).values()]
    .filter((own) => own[0]!.by !== 'TRL')
    .map((own) => [
      own[0]!.model,
      String(own[0]!.prompts),
      own[0]!.by.includes('int8') ? '`int8`' : '`float32`',
      timesTrl(own, trl, 0),
      timesTrl(own, trl, 1),
      ...[own, trl].map((rows) => `${largest(rows.map(({ peakGB }) => peakGB)).toFixed(1)} GB`),
    ]);
});

const page = 'docs/results/reinforcement.md';
publish(
  page,
  `${tableOf(['player', 'chosen update', 'held-out length', 'length in fresh episodes'], lines)}\n${overSeeds}\n`,
  'lengths',
);
publish(
  page,
  tableOf(
    [
      'model',
      'prompts',
      '`compute`',
      'sampling, compared with TRL',
      'update, compared with TRL',
      'peak memory',
      'TRL, PEFT',
    ],
    speedLines,
  ),
  'speed',
);
