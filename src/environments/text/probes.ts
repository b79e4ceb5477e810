/**
 * Probe environments (Andy Jones, https://andyljones.com/posts/rl-debugging.html) in words. Each exercises one more
 * part of a trainer than the one before, so the first one that isn't learnt shows which part is broken.
 */
import type { RandomGenerator } from '../../random/generator.js';
import type { Observation, Task, TaskStep, TextSpace } from '../environment.js';

interface Probe {
  readonly actions: readonly string[];
  /** The observation of each step; a pair is drawn from at random. */
  readonly observations: readonly (string | readonly [string, string])[];
  /** The reward of the last step; earlier steps pay 0. */
  reward(observation: string, action: string): number;
}

const probes = {
  /** The value is always 1. */
  'probe-value': { actions: ['A'], observations: ['go'], reward: () => 1 },
  /** The value is +1 or −1, depending on the observation. */
  'probe-observation': {
    actions: ['A'],
    observations: [['up', 'down']],
    reward: (observation) => (observation === 'up' ? 1 : -1),
  },
  /** The value of the first step is γ, that of the second 1. */
  'probe-discount': { actions: ['A'], observations: ['first', 'last'], reward: () => 1 },
  /** A pays 1, B pays −1. */
  'probe-policy': {
    actions: ['A', 'B'],
    observations: ['go'],
    reward: (_, action) => (action === 'A' ? 1 : -1),
  },
  /** After `up` A pays 1, after `down` B does; the other action pays −1. */
  'probe-policy-observation': {
    actions: ['A', 'B'],
    observations: [['up', 'down']],
    reward: (observation, action) => ((action === 'A') === (observation === 'up') ? 1 : -1),
  },
} as const satisfies Readonly<Record<string, Probe>>;

export type ProbeId = keyof typeof probes;

export const probeIds = Object.keys(probes) as readonly ProbeId[];

/** Observation: a word. Action: A or B; some probes only have A. */
export class TextProbe implements Task<string> {
  readonly observationSpace: TextSpace = { kind: 'text' };
  readonly actionSpace: TextSpace;
  readonly #probe: Probe;
  #random!: RandomGenerator;
  #step = 0;
  #observation = '';

  constructor(id: ProbeId) {
    this.#probe = probes[id];
    this.actionSpace = { kind: 'text', choices: this.#probe.actions };
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    this.#step = 0;
    return this.#observe();
  }

  step(action: string): TaskStep {
    const seen = this.#observation;
    this.#step++;
    const terminated = this.#step === this.#probe.observations.length;
    if (terminated) return { observation: 'The end.', reward: this.#probe.reward(seen, action), terminated };
    return { observation: this.#observe(), reward: 0, terminated };
  }

  #observe(): string {
    const shown = this.#probe.observations[this.#step]!;
    this.#observation = typeof shown === 'string' ? shown : this.#random.choice(shown);
    return this.#observation;
  }
}
