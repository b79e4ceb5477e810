/** Which quests of a game are won and lost, and what they pay. */
import type { Action } from './actions.js';
import type { Fact, Facts } from './facts.js';
import type { Plan } from './plan.js';

/** `z8`: as the compiled game counts. `json`: as TextWorld counts when it plays the `.json` itself. */
export const dialects = ['z8', 'json'] as const;
export type Dialect = (typeof dialects)[number];

interface QuestEvent {
  /** Facts that must all hold. */
  readonly condition: readonly Fact[];
  /** A stored way to get there. In the dialect `json` a quest fails with the plan of an event that wins it. */
  readonly plan: Plan | undefined;
}

export interface Quest {
  readonly reward: number;
  readonly optional: boolean;
  readonly repeatable: boolean;
  readonly wins: readonly QuestEvent[];
  readonly failures: readonly QuestEvent[];
}

/** Where a quest stands. */
interface Progress {
  completions: number;
  won: boolean;
  failed: boolean;
}

/** The state of all quests of one game that is played. */
export class QuestLog {
  readonly #quests: readonly Quest[];
  readonly #dialect: Dialect;
  readonly #progress: Progress[];
  /** Plans of the events that win, in their order. */
  readonly #plans: readonly (readonly (Plan | undefined)[])[];

  constructor(quests: readonly Quest[], dialect: Dialect, facts: Facts) {
    this.#quests = quests;
    this.#dialect = dialect;
    this.#progress = quests.map(() => ({ completions: 0, won: false, failed: false }));
    this.#plans = quests.map(({ wins }) => wins.map(({ plan }) => plan?.copy()));
    // The compiled game looks at nothing before the first turn.
    if (dialect === 'json') this.update(facts, undefined);
  }

  get score(): number {
    return this.#quests.reduce((sum, { reward }, i) => sum + reward * this.#progress[i]!.completions, 0);
  }

  get won(): boolean {
    return this.#quests.every(
      ({ optional, wins }, i) => optional || wins.length === 0 || this.#progress[i]!.won,
    );
  }

  get lost(): boolean {
    return this.#quests.some(({ optional }, i) => !optional && this.#progress[i]!.failed);
  }

  /** @param action that was just done */
  update(facts: Facts, action: Action | undefined): void {
    for (const [i, quest] of this.#quests.entries()) {
      const progress = this.#progress[i]!;
      if (progress.won || progress.failed) continue;
      const holds = ({ condition }: QuestEvent) => condition.every((fact) => facts.has(fact));
      const failed = quest.failures.some(holds);
      const won = quest.wins.some(holds) && !(failed && this.#dialect === 'z8');
      const outOfReach = this.#plans[i]!.map((plan) => plan?.follow(facts, action)).includes('out-of-reach');
      progress.failed = failed || outOfReach;
      if (!won) continue;
      progress.completions++;
      progress.won = !quest.repeatable;
    }
  }
}

/** @returns the sum of the rewards; infinite where a quest can be won again and again */
export function maximumScore(quests: readonly Quest[]): number {
  return quests
    .filter(({ optional, reward }) => !optional || reward > 0)
    .reduce((sum, { repeatable, reward }) => sum + (repeatable && reward > 0 ? Infinity : reward), 0);
}
