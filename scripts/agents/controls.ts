/**
 * What simple searches reach with as much experience as an agent had that learnt from text:
 *
 *     npx tsx scripts/agents/controls.ts blackjack HANDS SEED…      a table of action values, Monte Carlo
 *     npx tsx scripts/agents/controls.ts cartpole STEPS SEED…       hill climbing on a linear policy of the four numbers
 *
 * One line of JSON a seed. Their settings were chosen on seeds from 100 on.
 */
import process from 'node:process';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Environment } from '../../src/environments/environment.js';
import { createGenerator, deriveSeeds } from '../../src/random/generator.js';
import { mean, standardDeviation } from '../../src/statistics/descriptive.js';

type Act = (observation: readonly number[]) => number;

function play(environment: Environment, seed: number, act: Act) {
  const visited: { readonly observation: readonly number[]; readonly action: number }[] = [];
  let total = 0;
  for (let observation = environment.reset(seed) as readonly number[]; ; ) {
    const action = act(observation);
    visited.push({ observation, action });
    const step = environment.step(action);
    total += step.reward;
    if (step.terminated || step.truncated) return { visited, total };
    observation = step.observation as readonly number[];
  }
}

/** Q(s, a) goes 3 % of the way to each return after a in s; half of the actions, ever fewer, are drawn at random. */
function table(environment: Environment, hands: number, seed: number): Act {
  const random = createGenerator(seed);
  const values = new Map<string, number>();
  const keyOf = (observation: readonly number[], action: number) => [...observation, action].join();
  const value = (observation: readonly number[], action: number) =>
    values.get(keyOf(observation, action)) ?? 0;
  const best: Act = (observation) => Number(value(observation, 1) > value(observation, 0));
  for (const [hand, start] of deriveSeeds(seed, [1], hands).entries()) {
    const explores = 0.5 * (1 - hand / hands);
    const { visited, total } = play(environment, start, (observation) =>
      random.random() < explores ? random.integers(0, 2) : best(observation),
    );
    for (const { observation, action } of visited) {
      const before = value(observation, action);
      values.set(keyOf(observation, action), before + 0.03 * (total - before));
    }
  }
  return best;
}

/** Keeps a step away from the best policy where it lasted at least as long in three episodes. */
function climb(environment: Environment, steps: number, seed: number): Act {
  const random = createGenerator(seed);
  const actOf =
    (weights: readonly number[]): Act =>
    (observation) =>
      Number(observation.reduce((sum, value, i) => sum + value * weights[i]!, 0) > 0);
  let best = [0, 0, 0, 0].map(() => random.normal(0, 1));
  let highest = Number.NEGATIVE_INFINITY;
  let taken = 0;
  for (let trial = 0; taken < steps; trial++) {
    const weights = trial === 0 ? best : best.map((weight) => weight + random.normal(0, 0.5));
    const totals = deriveSeeds(seed, [2, trial], 3).map(
      (start) => play(environment, start, actOf(weights)).total,
    );
    taken += totals.reduce((sum, one) => sum + one, 0);
    if (mean(totals) < highest) continue;
    [best, highest] = [weights, mean(totals)];
  }
  return actOf(best);
}

const [world, budget, ...seeds] = process.argv.slice(2);
const [id, learn, games] =
  world === 'blackjack'
    ? (['Blackjack-v1', table, 100_000] as const)
    : (['CartPole-v1', climb, 100] as const);
for (const seed of seeds.map(Number)) {
  const environment = await makeEnvironment(id, {});
  const act = learn(environment, Number(budget), seed);
  const values = deriveSeeds(seed, [99], games).map((start) => play(environment, start, act).total);
  const meanReturn = mean(values);
  const margin = (1.96 * standardDeviation(values)) / Math.sqrt(values.length);
  const row = {
    seed,
    budget: Number(budget),
    games,
    meanReturn,
    low: meanReturn - margin,
    high: meanReturn + margin,
  };
  process.stdout.write(`${JSON.stringify(row)}\n`);
}
