/**
 * Computes the figures of the README's findings from the rows behind the pages that it links.
 * Run: npm run figures -- --page
 */
import { mean } from '../../src/statistics/descriptive.js';
import { chosen, isModel, number, percent, repeatShare, rows } from './large-model.js';
import { evaluatedBy, reachedByRelay } from './relay.js';
import { publish, readRows } from './rows.js';

interface Trained {
  readonly who: string;
  readonly model: string;
  readonly lengths?: readonly number[];
  readonly scores?: readonly number[];
}

const onMountainCar = rows.filter(({ environment }) => environment === 'MountainCar-v0');
const reached = (name: string, proposals: number) =>
  number(
    mean(
      chosen(
        onMountainCar.filter(({ by }) => by === name),
        proposals,
      ),
    ),
  );
const shares = onMountainCar
  .filter(isModel)
  .map(repeatShare)
  .sort((a, b) => a - b);

/** Mean results of the players with this name, one per seed. */
const means = (file: string, name: string, model: string, digits: number) =>
  readRows<Trained>(file)
    .filter((row) => row.who === name && row.model === model)
    .map(({ lengths = [], scores = lengths }) => mean(scores).toFixed(digits))
    .join(' and ');
const lengths = (name: string) => means('cartpole-lora', name, 'Qwen2.5-Coder-0.5B-Instruct', 0);
const scores = (name: string) => means('cooking-smollm', name, 'SmolLM2-135M-Instruct', 2);

const relay = (environment: string) =>
  `${reachedByRelay(environment, 'gp', 20)} (the Gaussian process alone ${reachedByRelay(environment, 'gp', 0)}, 100 calls alone ${reachedByRelay(environment, 'none')})`;

publish(
  'README.md',
  `- **Small local models make valid proposals**: 135M parameters in ${evaluatedBy('smollm2')} iterations of six tasks, 0.5B in ${evaluatedBy('qwen0.5')}, 1.5B in ${evaluatedBy('qwen1.5')} of two
  tasks. [No advantage over random policies](docs/results/large-model.md#small-models-ask-then-search) is shown for 20 of them.
- **A large model knows MountainCar-v0**: 50 proposals of [gpt-oss:120b](docs/results/large-model.md) reach ${reached('gpt-oss:120b', 50)}; CMA-ES needs 400 evaluations (${reached('cma-es', 400)}).
  But ${percent(shares[0]!).replace(' %', '')} to ${percent(shares.at(-1)!)} of its proposals repeat a policy in other numbers, and on InvertedPendulum-v5 it isn't measurably better than a search.
- **Ask first, then search**: 20 calls of gpt-oss:120b, then a Gaussian process ([a relay](docs/how-to/relays.md)), reach ${relay('InvertedPendulum-v5')} in 100 evaluations of InvertedPendulum-v5 and ${relay('MountainCar-v0')} of MountainCar-v0.
- **Training works on one core**: PPO takes a 0.5B model from ${lengths('untrained')} to [${lengths('trained')} of 500 steps](docs/results/reinforcement.md) of CartPole as text; imitation and
  GRPO take SmolLM2-135M from ${scores('untrained')} to [${scores('… then GRPO on other games')}](docs/results/cooking.md) in cooking games. Two demonstrations each, not clean tests: settings and lengths changed on the way.
`,
);
