/** Names that prompts use for the observations and actions of built-in environments. */
import {
  environmentFacts,
  environmentName,
  type Facts,
  type Options,
} from '../environments/catalogue/facts.js';
import type { Observation } from '../environments/environment.js';

export interface EnvironmentView {
  /** Prompt sets, the default first. The short ones are for training small models. */
  readonly promptSets: readonly [string, ...string[]];
  readonly actionNames: readonly string[];
  /** An arbitrary observation, for checking templates. */
  readonly sample: Observation;
  /** The parts of an observation by name, which templates use as `state`. */
  state(observation: Observation): Facts;
}

const standNames = ['R', 'G', 'Y', 'B'] as const;

const cellFacts = (columns: number) => (observation: Observation) => {
  const state = Number(observation);
  return { row: Math.floor(state / columns), column: state % columns };
};

const numbersOf = (observation: Observation) => observation as readonly number[];

function cartPoleFacts(observation: Observation): Facts {
  const numbers = numbersOf(observation);
  const [position, velocity, angle, angularVelocity] = numbers.map((value) => value.toFixed(3));
  return {
    position: position!,
    velocity: velocity!,
    angle: angle!,
    angularVelocity: angularVelocity!,
    hundredths: numbers.map((value) => Math.round(100 * value)).join(' '),
  };
}

function taxiFacts(observation: Observation): Facts {
  const state = Number(observation);
  const passenger = Math.floor(state / 4) % 5;
  return {
    row: Math.floor(state / 100),
    column: Math.floor(state / 20) % 5,
    passenger: passenger === 4 ? 'is in the taxi' : `waits at ${standNames[passenger]}`,
    destination: standNames[state % 4]!,
  };
}

function blackjackFacts(observation: Observation): Facts {
  const [sum, dealer, ace] = observation as readonly [number, number, number];
  return { sum, dealer: dealer === 1 ? 'an ace' : dealer, dealerCard: dealer, usableAce: ace === 1 };
}

const views: Readonly<Record<string, (facts: Facts) => EnvironmentView>> = {
  CartPole: () => ({
    promptSets: ['cartpole', 'cartpole-short'],
    actionNames: ['left', 'right'],
    sample: [0, 0, 0, 0],
    state: cartPoleFacts,
  }),
  FrozenLake: ({ columns }) => ({
    promptSets: ['frozenlake'],
    actionNames: ['left', 'down', 'right', 'up'],
    sample: 0,
    state: cellFacts(Number(columns)),
  }),
  Blackjack: () => ({
    promptSets: ['blackjack', 'blackjack-short'],
    actionNames: ['stick', 'hit'],
    sample: [4, 1, 0],
    state: blackjackFacts,
  }),
  Taxi: () => ({
    promptSets: ['taxi'],
    actionNames: ['south', 'north', 'east', 'west', 'pick up', 'drop off'],
    sample: 0,
    state: taxiFacts,
  }),
  CliffWalking: () => ({
    promptSets: ['cliffwalking'],
    actionNames: ['up', 'right', 'down', 'left'],
    sample: 36,
    state: cellFacts(12),
  }),
};

export function viewOf(id: string, options: Options): EnvironmentView | undefined {
  return views[environmentName(id)]?.(environmentFacts(id, options));
}

export const environmentPromptSets: readonly string[] = Object.values(views).flatMap(
  (view) => view({}).promptSets,
);
