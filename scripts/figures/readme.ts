/**
 * Computes the figures of the README's findings from the rows behind the pages that it links.
 * Run: npm run figures -- --page
 */
import { groupBy } from '../../src/base/grouped.js';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { scoresAfter } from './cooking.js';
import { isModel, meansOfChosen, number, percent, repeatShare, rows } from './large-model.js';
import { played } from './reinforcement.js';
import { evaluatedBy, reachedByRelay } from './relay.js';
import { publish, readRows } from './rows.js';

interface Replies {
  readonly with: string;
  readonly iterations: number;
  readonly evaluated: number;
}

interface Programs {
  readonly with: string;
  readonly arm: string;
  readonly calls: number;
  readonly failures: Readonly<Record<string, number>>;
}

const onMountainCar = rows.filter(({ environment }) => environment === 'MountainCar-v0');
const reached = (name: string, proposals: number) =>
  number(
    mean(
      meansOfChosen(
        onMountainCar.filter(({ by }) => by === name),
        proposals,
      ),
    ),
  );
const shares = onMountainCar
  .filter(isModel)
  .map(repeatShare)
  .sort((a, b) => a - b);

const andList = (items: readonly string[]) => new Intl.ListFormat('en-GB').format(items);

/** Returns the mean lengths of SmolLM2's episodes before or after training, one per seed. */
const oneConfig = (isTrained: boolean) =>
  andList(
    played
      .filter(({ seed, who }) => (seed !== undefined) === isTrained && who.startsWith('SmolLM2'))
      .map((row) => mean(row.lengths).toFixed(0)),
  );

/** Returns the scores of cooking games after a stage of training, one per seed. */
const cooking = (stage: string) => andList(scoresAfter(stage).map((score) => score.toFixed(2)));

const after = (search: 'gp' | 'none', calls?: number) => {
  const [pendulum, mountain] = ['InvertedPendulum-v5', 'MountainCar-v0'].map((environment) =>
    number(reachedByRelay(environment, search, calls), 0),
  );
  return `${pendulum} on InvertedPendulum-v5 and ${mountain} on MountainCar-v0`;
};

const replies = readRows<Replies>('real-models').filter((row) => row.with === 'smollm2');
const evaluated = `${sum(replies.map((row) => row.evaluated))} of ${sum(replies.map((row) => row.iterations))}`;

/** Shares of unusable replies of the arms that write programs, ascending. */
const unusable = [
  ...groupBy(
    readRows<Programs>('programs').filter(({ with: model, arm }) => model !== '-' && arm !== 'parameters'),
    ({ with: model, arm }) => `${model} ${arm}`,
  ).values(),
]
  .map(
    (own) => sum(own.flatMap(({ failures }) => Object.values(failures))) / sum(own.map(({ calls }) => calls)),
  )
  .sort((a, b) => a - b);

const between = (ascending: readonly number[]) =>
  `${percent(ascending[0]!).replace(' %', '')} to ${percent(ascending.at(-1)!)}`;

publish(
  'README.md',
  `- **Small local models propose usable parameters** if a grammar constrains their replies and repeats are rejected: 135M parameters in ${evaluatedBy('smollm2')} and ${evaluated} iterations,
  0.5B in ${evaluatedBy('qwen0.5')}, 1.5B in ${evaluatedBy('qwen1.5')}. That they beat chance [isn't shown](docs/results/large-model.md#small-models-ask-then-search). ${between(unusable)} of the replies of the larger two are unusable as [programs](docs/results/programs.md).
- **A large model is quick on MountainCar-v0**, which its prompts describe: after 20 random policies, 50 proposals of [gpt-oss:120b](docs/results/large-model.md) reach ${reached('gpt-oss:120b', 50)} (five published runs), 50 and 400 of CMA-ES ${reached('cma-es', 50)} and ${reached('cma-es', 400)} (ten runs).
  The intervals overlap, ${between(shares)} of its proposals act like an earlier one, and on InvertedPendulum-v5 no difference from a search is shown.
- **Ask first, then search** ([a relay](docs/how-to/relays.md)): without a verdict, as there are five records. After 20 random policies, 20 proposals of that model and 80 of a Gaussian process reach ${after('gp', 20)},
  100 of the Gaussian process ${after('gp', 0)}, up to 100 of the model ${after('none')} ([intervals and other searches](docs/results/large-model.md#ask-then-search)).
- **Training can work on one core.** With [one config](docs/results/reinforcement.md#cartpole-as-text-with-one-config), fixed in advance, PPO takes SmolLM2-135M from ${oneConfig(false)} to ${oneConfig(true)} of 500 steps of CartPole as text (three seeds, fresh episodes).
  In [cooking games](docs/results/cooking.md#in-games-that-chose-nothing), a model of 178,000 parameters, trained from scratch, scores ${cooking('imitation')} of 1 after imitation, ${cooking('reinforced')} after GRPO (three seeds, unseen games). [As a proposer](docs/results/trained-proposers.md), SmolLM2 became better (one training); for the 0.5B, and from [one's own logs](docs/results/own-logs.md), that isn't shown.
`,
);
