/**
 * Computes the first table of docs/results/cooking.md: the model from scratch, in games that chose nothing.
 * Run: npm run figures -- --page
 */
import { meanInterval95 } from '../../src/statistics/bootstrap.js';
import { mean } from '../../src/statistics/descriptive.js';
import { publish, readRows, tableOf, withInterval } from './rows.js';

/** The scores of a player in games 101 to 300 of the test fold. */
interface Played {
  readonly who: string;
  readonly seed?: number;
  readonly scores: readonly number[];
}

const names: Readonly<Record<string, string>> = { first: 'first action', reinforced: 'imitation, then GRPO' };

const played = readRows<Played>('cooking-fresh').filter(({ who }) => who !== 'expert');
const lines = played.map(({ scores, seed, who }) => [
  `${names[who] ?? who}${seed === undefined ? '' : `, seed ${seed}`}`,
  withInterval(mean(scores), meanInterval95(scores, [0, 1], 'student')!, 3),
  `${((100 * scores.filter((score) => score === 1).length) / scores.length).toFixed(0)} %`,
]);
/** Returns the mean scores after a stage of training, one per seed. */
export const scoresAfter = (stage: string): readonly number[] =>
  played.filter(({ who }) => who === stage).map(({ scores }) => mean(scores));

const overSeeds = (means: readonly number[]) => withInterval(mean(means), meanInterval95(means, [-1, 1])!, 3);
const [imitation, reinforced] = [scoresAfter('imitation'), scoresAfter('reinforced')];
const gains = reinforced.map((score, i) => score - imitation[i]!);
publish(
  'docs/results/cooking.md',
  `${tableOf(['player', 'mean score, with its 95 % interval over games', 'won'], lines)}
Over the three seeds (Student's t): ${overSeeds(imitation)} after imitation, ${overSeeds(reinforced)} after GRPO; GRPO adds ${overSeeds(gains)}.
`,
);
