/**
 * Detects problems that make reinforcement learning useless although it doesn't fail. An alarm is raised once
 * while its problem persists.
 */
import { mean } from '../../src/statistics/descriptive.js';
import type { RlAlarm, RlEventOf } from './events.js';

type Step = Pick<
  RlEventOf<'step'>,
  'flat' | 'reward' | 'lowest' | 'highest' | 'entropy' | 'mismatch' | 'valid' | 'replyTokens'
>;

/** Number of updates averaged. */
const window = 10;

/** The updates that the checks examine. */
interface Course {
  /** The first updates; `now` has the latest ones. */
  readonly before: readonly Step[];
  readonly now: readonly Step[];
  /** True if the last episodes returned almost as much as the best one ever, so there is little left to learn. */
  readonly solved: boolean;
  /** True if the objective compares the episodes of a group. If it doesn't, equal returns can still teach something. */
  readonly compares: boolean;
}

interface Watch {
  readonly alarm: RlAlarm['alarm'];
  /** Returns the problem and its remedy; undefined if all is well. */
  check(course: Course): Omit<RlAlarm, 'alarm'> | undefined;
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
        message: `${percent(flat)} of the groups had equal returns in the last ${window} updates, so that they taught nothing`,
        remedy:
          'raise groupSize or the temperature, choose easier starts, give a reward for parts of the way, or stop where the task is solved',
      };
    },
  },
  {
    alarm: 'entropy-collapse',
    check({ before, compares, now, solved }) {
      const [first, last] = [meanOf(before, 'entropy'), meanOf(now, 'entropy')];
      const teaches = compares && meanOf(now, 'flat') < 0.5;
      if (solved || teaches || first < 0.1 || last > 0.05 * first) return undefined;
      return {
        message: `the entropy of the replies fell from ${first.toFixed(2)} to ${last.toPrecision(2)} nats a token: nothing new is tried, though better returns were seen`,
        remedy:
          'lower the learning rate, raise objective.clip.high or objective.entropy, or stop where the task is solved',
      };
    },
  },
  {
    alarm: 'mismatch',
    check({ now }) {
      const mismatch = meanOf(now, 'mismatch');
      if (mismatch < 0.01) return undefined;
      return {
        message: `sampler and trainer give the same tokens other probabilities (KL ${mismatch.toPrecision(2)} a token)`,
        remedy:
          'take method.quantization none and method.compute float32, or truncate more with objective.importance.cap',
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
          message: 'no reply could be read so far: none names an action, or parameters',
          remedy:
            'give replies more tokens (maxTokens), or begin with a model that knows the format (finetune train)',
        };
      return {
        message: `${percent(last)} of the replies can be read, where ${percent(first)} could at first`,
        remedy: 'let invalid replies cost something (reward.invalid=-1), or lower the learning rate',
      };
    },
  },
  {
    alarm: 'length-drift',
    check({ before, now }) {
      const [first, last] = [meanOf(before, 'replyTokens'), meanOf(now, 'replyTokens')];
      const lengths = `replies have ${last.toFixed(1)} tokens on average, where they had ${first.toFixed(1)} at first`;
      if (first >= 8 && last <= 0.3 * first)
        return {
          message: lengths,
          remedy:
            'take objective.variant dr_grpo, which counts long replies and short ones alike, or a lower learning rate',
        };
      if (last >= 16 && last >= 3 * first)
        return {
          message: lengths,
          remedy:
            'lower the limit of tokens (maxTokens), or take objective.variant dr_grpo, which gains nothing by length',
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
  readonly #raised = new Set<RlAlarm['alarm']>();

  /** @param compares true if the objective compares the episodes of a group */
  constructor(compares: boolean) {
    this.#compares = compares;
  }

  /** Adds an update and returns the alarms it raises. */
  step(step: Step): readonly RlAlarm[] {
    this.#lowest = Math.min(this.#lowest, step.lowest);
    this.#highest = Math.max(this.#highest, step.highest);
    if (this.#first.length < window) this.#first.push(step);
    this.#last = [...this.#last, step].slice(-window);
    if (this.#last.length < window) return [];
    const course = {
      ...{ before: this.#first, now: this.#last },
      ...{ solved: this.#isSolved(), compares: this.#compares },
    };
    return watches.flatMap(({ alarm, check }) => {
      const found = check(course);
      if (found === undefined) this.#raised.delete(alarm);
      if (found === undefined || this.#raised.has(alarm)) return [];
      this.#raised.add(alarm);
      return [{ alarm, ...found }];
    });
  }

  #isSolved(): boolean {
    const range = this.#highest - this.#lowest;
    return range > 0 && meanOf(this.#last, 'reward') >= this.#highest - 0.05 * range;
  }
}
