/**
 * Computes the table of docs/results/reinforcement.md: CartPole as text with one config.
 * Run: npm run figures -- --page
 */
import { interval95, meanInterval95 } from '../../src/statistics/bootstrap.js';
import { mean } from '../../src/statistics/descriptive.js';
import { publish, readRows, tableOf, withInterval } from './rows.js';

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

const lines = played.map(({ heldOut, lengths, seed, update, who }) => [
  seed === undefined ? who : `${who}, seed ${seed}`,
  update === undefined ? '–' : `${update}`,
  heldOut === undefined ? '–' : heldOut.toFixed(0),
  withInterval(mean(lengths), meanInterval95(lengths, [1, 500], 'student')!, seed === undefined ? 1 : 0),
]);
const trained = played.filter(({ seed }) => seed !== undefined).map(({ lengths }) => mean(lengths));
const overSeeds = `Over the three seeds: ${withInterval(mean(trained), interval95([{ values: trained }])!, 0)} (Student's t).`;

publish(
  'docs/results/reinforcement.md',
  `${tableOf(['player', 'chosen update', 'held-out length', 'length in fresh episodes'], lines)}\n${overSeeds}\n`,
);
