/** Chooses the portfolio member that proposes; a pure function of the rule, the seed and the evaluations. */
import betaQuantile from '@stdlib/stats-base-dists-beta-quantile';
import { createGenerator } from '../random/generator.js';
import type { Evaluated } from '../rollout/replay-buffer.js';
import { largest } from '../statistics/descriptive.js';

/** How a portfolio switches between its members, which are numbered from 0. */
export type SwitchRule =
  | { readonly kind: 'shares'; readonly weights: readonly number[] }
  | { readonly kind: 'turns' }
  | { readonly kind: 'plateau'; readonly patience: number }
  | { readonly kind: 'bandit'; readonly discount: number };

/** An evaluation with its position in the run. */
interface Placed extends Evaluated {
  /** 0 for the warm-up. */
  readonly iteration: number;
  readonly candidate: number;
}

/** The run for which members are chosen. */
export interface SwitchedRun {
  readonly candidates: number;
  /** Seed of the first call for a candidate. */
  seed(iteration: number, candidate: number): number;
  /** All evaluations, oldest first. Append-only. */
  readonly entries: readonly Placed[];
}

/** Assigns a member to each candidate of an iteration. Some rules use the results of earlier iterations. */
export type Switch = (iteration: number, run: SwitchedRun) => readonly number[];

export function createSwitch(rule: SwitchRule, members: number): Switch {
  switch (rule.kind) {
    case 'shares': {
      const total = rule.weights.reduce((sum, weight) => sum + weight, 0);
      const shares = rule.weights.map((weight) => weight / total);
      return (iteration, run) =>
        eachCandidate(run, (candidate) => streamOf(run, iteration, candidate).categorical(shares));
    }
    case 'turns':
      return (iteration, run) => eachCandidate(run, () => (iteration - 1) % members);
    case 'plateau':
      return folded(() => plateau(rule.patience, members));
    case 'bandit':
      return folded(() => discountedThompson(rule.discount, members));
  }
}

const eachCandidate = (
  { candidates }: Pick<SwitchedRun, 'candidates'>,
  choose: (candidate: number) => number,
): readonly number[] => Array.from({ length: candidates }, (_, candidate) => choose(candidate));

/** A stream derived from the call's seed, but independent of the stream from which the member draws its proposal. */
const streamOf = (run: SwitchedRun, iteration: number, candidate: number) =>
  createGenerator(run.seed(iteration, candidate), [0]);

/** A switching rule that learns from the results of each iteration. */
interface Learner {
  choose(iteration: number, run: SwitchedRun): readonly number[];
  /** @param gained whether each candidate beat all earlier iterations; false if it wasn't evaluated */
  observe(chosen: readonly number[], gained: readonly boolean[]): void;
}

/** Replays the iterations before the requested one; later calls continue from there. */
function folded(start: () => Learner): Switch {
  let learner = start();
  let next = 1;
  let position = 0;
  let best = Number.NEGATIVE_INFINITY;
  const takeUntil = (iteration: number, { entries }: SwitchedRun): readonly Placed[] => {
    const from = position;
    while (position < entries.length && entries[position]!.iteration < iteration) position++;
    return entries.slice(from, position);
  };
  return (iteration, run) => {
    if (iteration < next) [learner, next, position, best] = [start(), 1, 0, Number.NEGATIVE_INFINITY];
    for (; next < iteration; next++) {
      const before = takeUntil(next, run);
      best = Math.max(best, largest(before.map(({ score }) => score)));
      const chosen = learner.choose(next, run);
      const gained = chosen.map(() => false);
      for (let i = position; run.entries[i]?.iteration === next; i++) {
        const { candidate, score } = run.entries[i]!;
        if (candidate < gained.length) gained[candidate] = score > best;
      }
      learner.observe(chosen, gained);
    }
    return learner.choose(iteration, run);
  };
}

/** Switches to the next member after `patience` iterations without a new best result. */
function plateau(patience: number, members: number): Learner {
  let member = 0;
  let idle = 0;
  return {
    choose: (_iteration, run) => eachCandidate(run, () => member),
    observe(_chosen, gained) {
      idle = gained.includes(true) ? 0 : idle + 1;
      if (idle < patience) return;
      member = (member + 1) % members;
      idle = 0;
    },
  };
}

/**
 * Discounted Thompson sampling (V. Raj and S. Kalyani, “Taming Non-stationary Bandits: A Bayesian Approach”,
 * arXiv:1707.09727). A member succeeds if its candidate beats all earlier iterations. Each candidate goes to
 * the member with the highest draw from Beta(1 + successes, 1 + failures). Both counts are discounted after
 * every iteration.
 */
function discountedThompson(discount: number, members: number): Learner {
  const successes = Array<number>(members).fill(0);
  const failures = Array<number>(members).fill(0);
  const draw = (run: SwitchedRun, iteration: number, candidate: number) => {
    const random = streamOf(run, iteration, candidate);
    const draws = successes.map((won, i) => betaQuantile(random.random(), 1 + won, 1 + failures[i]!));
    return draws.indexOf(largest(draws));
  };
  return {
    choose: (iteration, run) => eachCandidate(run, (candidate) => draw(run, iteration, candidate)),
    observe(chosen, gained) {
      for (let member = 0; member < members; member++) {
        successes[member]! *= discount;
        failures[member]! *= discount;
      }
      for (const [candidate, member] of chosen.entries()) {
        const counts = gained[candidate] ? successes : failures;
        counts[member]!++;
      }
    },
  };
}
