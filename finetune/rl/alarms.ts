/** Detects problems of reinforcement learning that make a training run useless. */
import { mean } from '../../src/statistics/descriptive.js';
import type { Alarm, PolicyStep } from '../train/events.js';

type Step = Pick<
  PolicyStep,
  'flat' | 'reward' | 'lowest' | 'highest' | 'entropy' | 'mismatch' | 'valid' | 'replyTokens'
>;

/** Number of updates that most alarms consider. */
const window = 10;

interface Course {
  readonly before: readonly Step[];
  readonly now: readonly Step[];
  /** True if the mean return of recent updates is close to the best return so far. */
  readonly solved: boolean;
  /** True if the objective compares the episodes of a group. */
  readonly compares: boolean;
}

interface Watch {
  readonly alarm: Alarm['alarm'];
  /** Number of the latest updates to consider; the alarm can't come earlier. Default: `window`. */
  readonly updates?: number;
  check(course: Course): Omit<Alarm, 'alarm'> | undefined;
}

const meanOf = (steps: readonly Step[], key: Exclude<keyof Step, 'lowest' | 'highest'>) =>
  mean(steps.map((step) => step[key]));

const percent = (share: number) => `${Math.round(100 * share)} %`;

const watches: readonly Watch[] = [
  {
    alarm: 'no-variance',
    check({ compares, now, solved }) {
      const flat = meanOf(now, 'flat');
      if (!compares || flat < 0.9 || solved) return undefined;
      return {
        message: `in ${percent(flat)} of the groups of the last ${window} updates, all returns were equal, so there was nothing to compare`,
        hint: 'raise groupSize or the temperature, choose an easier task, reward partial success, or stop if the task is solved',
      };
    },
  },
  {
    alarm: 'entropy-collapse',
    updates: 3, // an update of a large model takes minutes, and its policy can collapse within two
    check({ before, compares, now, solved }) {
      const [first, last] = [before[0]!.entropy, meanOf(now, 'entropy')];
      const teaches = compares && meanOf(now, 'flat') < 0.5;
      if (solved || teaches || first < 0.1 || last > 0.05 * first) return undefined;
      return {
        message: `the entropy of the replies fell from ${first.toFixed(2)} to ${last.toPrecision(2)} nats per token: the model no longer explores`,
        hint: 'lower the learning rate, raise objective.entropy, or stop if the task is solved',
      };
    },
  },
  {
    alarm: 'mismatch',
    check({ now }) {
      const mismatch = meanOf(now, 'mismatch');
      if (mismatch < 0.01) return undefined;
      return {
        message: `sampler and trainer compute different probabilities (KL ${mismatch.toPrecision(2)} nats per token)`,
        hint: 'with method lora, set method.quantization=none and method.compute=float32; otherwise, lower objective.importance.cap',
      };
    },
  },
  {
    alarm: 'format-loss',
    check({ before, now }) {
      const [first, last] = [meanOf(before, 'valid'), meanOf(now, 'valid')];
      if (last > 0.5 * first) return undefined;
      if (first === 0)
        return {
          message: 'no reply can be parsed',
          hint: 'raise maxTokens, or start from a model that knows the format (finetune train)',
        };
      return {
        message: `only ${percent(last)} of the replies can be parsed, down from ${percent(first)} at the start`,
        hint: 'lower reward.invalid to penalize invalid replies, or lower the learning rate',
      };
    },
  },
  {
    alarm: 'length-drift',
    check({ before, now }) {
      const [first, last] = [meanOf(before, 'replyTokens'), meanOf(now, 'replyTokens')];
      const lengths = `replies average ${last.toFixed(1)} tokens, compared with ${first.toFixed(1)} at the start`;
      if (first >= 8 && last <= 0.3 * first)
        return {
          message: lengths,
          hint: 'lower the learning rate; if objective.variant is grpo, use dr_grpo, which gives all tokens equal weight',
        };
      if (last >= 16 && last >= 3 * first)
        return {
          message: lengths,
          hint: 'lower maxTokens; if objective.variant is grpo, use dr_grpo, which gives all tokens equal weight',
        };
      return undefined;
    },
  },
];

export class AlarmWatch {
  readonly #compares: boolean;
  readonly #first: Step[] = [];
  #last: readonly Step[] = [];
  #lowest = Number.POSITIVE_INFINITY;
  #highest = Number.NEGATIVE_INFINITY;
  readonly #raised = new Set<Alarm['alarm']>();

  constructor(compares: boolean) {
    this.#compares = compares;
  }

  step(step: Step): readonly Alarm[] {
    this.#lowest = Math.min(this.#lowest, step.lowest);
    this.#highest = Math.max(this.#highest, step.highest);
    if (this.#first.length < window) this.#first.push(step);
    this.#last = [...this.#last, step].slice(-window);
    return watches.flatMap(({ alarm, check, updates = window }) => {
      if (this.#last.length < updates) return [];
      const now = this.#last.slice(-updates);
      const solved = this.#isSolved(now);
      const found = check({ before: this.#first, now, solved, compares: this.#compares });
      if (found === undefined) this.#raised.delete(alarm);
      if (found === undefined || this.#raised.has(alarm)) return [];
      this.#raised.add(alarm);
      return [{ alarm, ...found }];
    });
  }

  #isSolved(now: readonly Step[]): boolean {
    const range = this.#highest - this.#lowest;
    return range > 0 && meanOf(now, 'reward') >= this.#highest - 0.05 * range;
  }
}
