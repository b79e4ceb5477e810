/** Finds what makes a reinforcement learning useless although it runs. Each alarm is raised once in a row of updates. */
import { mean } from '../../src/statistics/descriptive.js';
import type { RlAlarm, RlEventOf } from './events.js';

type Step = Pick<RlEventOf<'step'>, 'flat' | 'reward' | 'entropy' | 'mismatch' | 'valid' | 'replyTokens'>;

/** Updates that are looked at together. */
const window = 10;

interface Watch {
  readonly alarm: RlAlarm['alarm'];
  /** What is wrong, or undefined. `before` are the first updates, `now` the last ones. */
  check(before: readonly Step[], now: readonly Step[]): Omit<RlAlarm, 'alarm'> | undefined;
}

const meanOf = (steps: readonly Step[], key: keyof Step) => mean(steps.map((step) => step[key]));

const percent = (share: number) => `${Math.round(100 * share)} %`;

const watches: readonly Watch[] = [
  {
    alarm: 'no-variance',
    check(before, now) {
      const flat = meanOf(now, 'flat');
      // A policy that is as good everywhere as it ever was has nothing to learn.
      const best = Math.max(...before.map(({ reward }) => reward));
      if (flat < 0.9 || meanOf(now, 'reward') > best) return undefined;
      return {
        message: `${percent(flat)} of the groups had equal returns in the last ${window} updates, so that they taught nothing`,
        remedy:
          'raise groupSize or the temperature, choose easier starts, give a reward for parts of the way, or stop where the task is solved',
      };
    },
  },
  {
    alarm: 'entropy-collapse',
    check(before, now) {
      const [first, last] = [meanOf(before, 'entropy'), meanOf(now, 'entropy')];
      if (first < 0.1 || last > 0.02 * first || meanOf(now, 'flat') < 0.5) return undefined;
      return {
        message: `the entropy of the replies fell from ${first.toFixed(2)} to ${last.toPrecision(2)} nats a token, and most groups have equal returns: nothing new is tried`,
        remedy:
          'lower the learning rate, raise objective.clip.high or objective.entropy, or stop where the task is solved',
      };
    },
  },
  {
    alarm: 'mismatch',
    check(_, now) {
      const mismatch = meanOf(now, 'mismatch');
      if (mismatch < 0.01) return undefined;
      return {
        message: `sampler and trainer give the same tokens other probabilities (KL ${mismatch.toPrecision(2)} a token)`,
        remedy: 'take method.quantization none, or truncate more with objective.importance.cap',
      };
    },
  },
  {
    alarm: 'format-loss',
    check(before, now) {
      const [first, last] = [meanOf(before, 'valid'), meanOf(now, 'valid')];
      if (last > 0.5 * first) return undefined;
      return {
        message: `${percent(last)} of the replies name an action, where ${percent(first)} did at first`,
        remedy: 'let invalid replies cost something (reward.invalid=-1), or lower the learning rate',
      };
    },
  },
  {
    alarm: 'length-drop',
    check(before, now) {
      const [first, last] = [meanOf(before, 'replyTokens'), meanOf(now, 'replyTokens')];
      if (first < 8 || last > 0.3 * first) return undefined;
      return {
        message: `replies have ${last.toFixed(1)} tokens on average, where they had ${first.toFixed(1)} at first`,
        remedy:
          'take objective.variant dr_grpo, which counts long replies and short ones alike, or a lower learning rate',
      };
    },
  },
];

export class AlarmWatch {
  readonly #first: Step[] = [];
  #last: readonly Step[] = [];
  readonly #raised = new Set<RlAlarm['alarm']>();

  /** The alarms that an update raises. */
  step(step: Step): readonly RlAlarm[] {
    if (this.#first.length < window) this.#first.push(step);
    this.#last = [...this.#last, step].slice(-window);
    if (this.#last.length < window) return [];
    return watches.flatMap(({ alarm, check }) => {
      const found = check(this.#first, this.#last);
      if (found === undefined) this.#raised.delete(alarm);
      if (found === undefined || this.#raised.has(alarm)) return [];
      this.#raised.add(alarm);
      return [{ alarm, ...found }];
    });
  }
}
