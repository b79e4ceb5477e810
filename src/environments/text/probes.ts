/** Text tasks of one or two steps with a few choices: a bandit, and probes for testing trainers. */
import type { RandomGenerator } from '../../base/random/generator.js';
import type { Task, TaskStep, TextSpace } from '../environment.js';

interface Probe {
  readonly actions: readonly string[];
  /** The observation before each action; of a pair, one is drawn at random. */
  readonly observations: readonly (string | readonly [string, string])[];
  readonly endText?: string;
  /** The reward of the last step; earlier steps earn 0. */
  reward(observation: string, action: string): number;
}

const arms = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'] as const;

export const lastArmIndex = arms.length - 1;

/** Creates an eight-armed bandit (Robbins 1952): arm `best` (0-based) always pays 1, the others 0. */
export const textBandit = ({ best }: { readonly best: number }): Probe => ({
  actions: arms,
  observations: [`Eight arms: ${arms.join(', ')}. One pays. Pull one.`],
  endText: 'The round is over.',
  reward: (_, action) => (action === arms[best] ? 1 : 0),
});

/**
 * Probe environments (Andy Jones, https://andyljones.com/posts/rl-debugging.html) as text. Each tests one more part of
 * a trainer than the previous one, so the first probe that isn't learned shows which part is broken.
 */
export const probes: Readonly<Record<string, Probe>> = {
  /** The value is always 1. */
  'probe-value': { actions: ['A'], observations: ['go'], reward: () => 1 },
  /** The value is +1 or −1, depending on the observation. */
  'probe-observation': {
    actions: ['A'],
    observations: [['up', 'down']],
    reward: (observation) => (observation === 'up' ? 1 : -1),
  },
  /** The value of the first step is γ, and that of the second step is 1. */
  'probe-discount': { actions: ['A'], observations: ['first', 'last'], reward: () => 1 },
  'probe-policy': {
    actions: ['A', 'B'],
    observations: ['go'],
    reward: (_, action) => (action === 'A' ? 1 : -1),
  },
  /** A pays 1 after `up`, B pays 1 after `down`; the other action pays −1. */
  'probe-policy-observation': {
    actions: ['A', 'B'],
    observations: [['up', 'down']],
    reward: (observation, action) => ((action === 'A') === (observation === 'up') ? 1 : -1),
  },
};

export class TextProbe implements Task<string> {
  readonly observationSpace: TextSpace = { kind: 'text' };
  readonly actionSpace: TextSpace;
  readonly #probe: Probe;
  #random!: RandomGenerator;
  #step = 0;
  #observation = '';

  constructor(probe: Probe) {
    this.#probe = probe;
    this.actionSpace = { kind: 'text', choices: probe.actions };
  }

  reset(random: RandomGenerator): string {
    this.#random = random;
    this.#step = 0;
    return this.#observe();
  }

  step(action: string): TaskStep {
    const { endText = 'The end.', observations, reward } = this.#probe;
    const seen = this.#observation;
    this.#step++;
    const terminated = this.#step === observations.length;
    if (terminated) return { observation: endText, reward: reward(seen, action), terminated };
    return { observation: this.#observe(), reward: 0, terminated };
  }

  #observe(): string {
    const observation = this.#probe.observations[this.#step]!;
    this.#observation = typeof observation === 'string' ? observation : this.#random.choice(observation);
    return this.#observation;
  }
}
