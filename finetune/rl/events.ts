/** Events of reinforcement learning for the console, the log and the page. */
import { mean } from '../../src/statistics/descriptive.js';
import type { Timed } from '../train/record.js';
import type { Improvement } from './improvement.js';
import type { Baseline } from './learning/episode.js';

export interface RlAlarm {
  readonly alarm: 'no-variance' | 'entropy-collapse' | 'mismatch' | 'format-loss' | 'length-drift';
  readonly message: string;
  readonly remedy: string;
}

/** Result of an evaluation, and the update after which it was measured. */
export interface Evaluated {
  readonly step: number;
  readonly meanReward: number;
  /** Half the width of the mean's 95% interval. */
  readonly margin: number;
  /** Mean return of the proposed policies; proposers only. */
  readonly policyReturn?: number | undefined;
  /** Best return of a held-out run, averaged over the runs; proposers only. */
  readonly bestReturn?: number | undefined;
}

export type RlEvent =
  | {
      readonly kind: 'start';
      /** Number of completed updates; more than 0 if training resumes from a checkpoint. */
      readonly step: number;
      readonly totalSteps: number;
      /** Episodes per update. */
      readonly episodes: number;
      /** What evaluations measure, such as `mean return`. */
      readonly measured?: string;
      readonly best?: Pick<Evaluated, 'step' | 'meanReward'> | undefined;
    }
  | ({
      readonly kind: 'step';
      /** Numbered from 1. */
      readonly step: number;
      readonly totalSteps: number;
      /** Mean return of the update's episodes. */
      readonly reward: number;
      /** Return of the worst episode; `highest` is the return of the best. */
      readonly lowest: number;
      readonly highest: number;
      /** Standard deviation of the returns within a group, averaged over the groups. */
      readonly spread: number;
      /** Fraction of groups whose returns are all equal. */
      readonly flat: number;
      /** Mean return of the proposed policies; proposers only. */
      readonly policyReturn?: number;
      /** Fraction of replies that could be parsed into an action or parameters. */
      readonly valid: number;
      /** Mean number of turns per episode. */
      readonly turns: number;
      /** Mean number of tokens per reply. */
      readonly replyTokens: number;
      readonly sampledTokens: number;
      /** Seconds spent playing episodes; part of the metric's `seconds`. */
      readonly samplingSeconds: number;
    } & Improvement)
  | ({ readonly kind: 'evaluation'; readonly episodes: number; readonly best: boolean } & Evaluated)
  | ({ readonly kind: 'baseline'; readonly step: number } & Baseline)
  | { readonly kind: 'checkpoint'; readonly step: number }
  | ({ readonly kind: 'alarm'; readonly step: number } & RlAlarm);

export type RlEventOf<Kind extends RlEvent['kind']> = Extract<RlEvent, { readonly kind: Kind }>;

export type RlMetric = Timed<RlEvent>;

type Step = Pick<
  RlEventOf<'step'>,
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
  readonly alarm: RlAlarm['alarm'];
  /** Number of the latest updates to consider; the alarm can't come earlier. Default: `window`. */
  readonly updates?: number;
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
        message: `in ${percent(flat)} of the groups of the last ${window} updates, all returns were equal, so there was nothing to compare`,
        remedy:
          'raise groupSize or the temperature, choose an easier task, reward partial success, or stop if the task is solved',
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
        remedy: 'lower the learning rate, raise objective.entropy, or stop if the task is solved',
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
        remedy:
          'with method lora, set method.quantization=none and method.compute=float32; otherwise, lower objective.importance.cap',
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
          remedy: 'raise maxTokens, or start from a model that knows the format (finetune train)',
        };
      return {
        message: `only ${percent(last)} of the replies can be parsed, down from ${percent(first)} at the start`,
        remedy: 'lower reward.invalid to penalize invalid replies, or lower the learning rate',
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
          remedy:
            'lower the learning rate; if objective.variant is grpo, use dr_grpo, which gives all tokens equal weight',
        };
      if (last >= 16 && last >= 3 * first)
        return {
          message: lengths,
          remedy:
            'lower maxTokens; if objective.variant is grpo, use dr_grpo, which gives all tokens equal weight',
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

  constructor(compares: boolean) {
    this.#compares = compares;
  }

  step(step: Step): readonly RlAlarm[] {
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
