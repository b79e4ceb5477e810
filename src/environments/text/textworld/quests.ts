/** Tracks won and failed quests and their rewards. */
import type { WorldAction } from './actions.js';
import type { FactSet, WorldFact } from './facts.js';
import type { Plan } from './plan.js';

/** Rules of a game: those of the compiled game (`z8`), or of TextWorld when it plays the `.json` (`json`). */
export const dialects = ['z8', 'json'] as const;
export type Dialect = (typeof dialects)[number];

interface QuestEvent {
  /** Facts that must all hold. */
  readonly condition: readonly WorldFact[];
  /** For `json`: the stored plan that leads to the event. If a win event's plan can't be completed, the quest fails. */
  readonly plan: Plan | undefined;
}

export interface Quest {
  readonly reward: number;
  readonly optional: boolean;
  readonly repeatable: boolean;
  readonly winEvents: readonly QuestEvent[];
  readonly failEvents: readonly QuestEvent[];
}

interface QuestProgress {
  completionCount: number;
  won: boolean;
  failed: boolean;
}

export class QuestLog {
  readonly #quests: readonly Quest[];
  readonly #dialect: Dialect;
  readonly #progress: QuestProgress[];
  /** Plans of each quest's winning events, in order. */
  readonly #plans: readonly (readonly (Plan | undefined)[])[];

  constructor(quests: readonly Quest[], dialect: Dialect, facts: FactSet) {
    this.#quests = quests;
    this.#dialect = dialect;
    this.#progress = quests.map(() => ({ completionCount: 0, won: false, failed: false }));
    this.#plans = quests.map(({ winEvents }) => winEvents.map(({ plan }) => plan?.copy()));
    // The compiled game checks nothing before the first turn.
    if (dialect === 'json') this.update(facts, undefined);
  }

  get score(): number {
    return this.#quests.reduce((sum, { reward }, i) => sum + reward * this.#progress[i]!.completionCount, 0);
  }

  get won(): boolean {
    return this.#quests.every(
      ({ optional, winEvents }, i) => optional || winEvents.length === 0 || this.#progress[i]!.won,
    );
  }

  get lost(): boolean {
    return this.#quests.some(({ optional }, i) => !optional && this.#progress[i]!.failed);
  }

  /** @param action the action that was just executed; undefined at the start */
  update(facts: FactSet, action: WorldAction | undefined): void {
    for (const [i, quest] of this.#quests.entries()) {
      const progress = this.#progress[i]!;
      if (progress.won || progress.failed) continue;
      const holds = ({ condition }: QuestEvent) => condition.every((fact) => facts.has(fact));
      const failed = quest.failEvents.some(holds);
      const won = quest.winEvents.some(holds) && !(failed && this.#dialect === 'z8');
      const isOutOfReach = this.#plans[i]!.map((plan) => plan?.follow(facts, action)).includes(false);
      progress.failed = failed || isOutOfReach;
      if (!won) continue;
      progress.completionCount++;
      progress.won = !quest.repeatable;
    }
  }
}

/** Sums the rewards, except the penalties of optional quests; infinite if a quest earns points repeatedly. */
export function maximumScore(quests: readonly Quest[]): number {
  return quests
    .filter(({ optional, reward }) => !optional || reward > 0)
    .reduce((sum, { repeatable, reward }) => sum + (repeatable && reward > 0 ? Infinity : reward), 0);
}
