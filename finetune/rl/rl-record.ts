/** Keeps the record of a reinforcement learning run next to its result: metrics, TensorBoard event files and a page. */
import { join } from 'node:path';
import { type Page, page } from '../../src/report/page/page.js';
import { trainingFiles } from '../../src/runs/training-files.js';
import { replaceFile } from '../../src/storage/files.js';
import { EventFile, type Scalars } from '../../src/storage/tensorboard.js';
import { MetricsLog, type Timed } from '../train/metrics.js';
import type { TrainingStatus } from '../train/pages/frame.js';
import type { RlEvent, RlEventOf } from './events.js';

export type RlMetric = Timed<RlEvent>;
export type RlMetricOf<Kind extends RlMetric['kind']> = Timed<RlEventOf<Kind>>;

/** Minimum seconds between rewrites of the page while only step metrics arrive. */
const pageEvery = 5;

/** Window for the remaining time, in updates. */
const recentUpdates = 20;

/** Estimate from recent updates; undefined before the first. */
export function secondsLeftOf(metrics: readonly RlMetric[]): number | undefined {
  const steps = metrics.filter((metric) => metric.kind === 'step').slice(-recentUpdates);
  const last = steps.at(-1);
  if (last === undefined) return undefined;
  const seconds = steps.reduce((sum, step) => sum + step.seconds, 0) / steps.length;
  return seconds * (last.totalSteps - last.step);
}

export class RlRecord {
  readonly #output: string;
  readonly #render: (metrics: readonly RlMetric[], status: TrainingStatus) => Page;
  readonly #log: MetricsLog<RlMetric>;
  readonly #events: EventFile<RlMetric>;
  /** Seconds since the page was last written. */
  #unwritten = 0;

  /** @param render builds the page */
  constructor(output: string, render: (metrics: readonly RlMetric[], status: TrainingStatus) => Page) {
    this.#output = output;
    this.#render = render;
    this.#log = new MetricsLog(join(output, trainingFiles.metrics));
    this.#events = new EventFile(join(output, trainingFiles.eventFiles), scalars);
  }

  /** Metrics of the whole training run, including earlier sessions. */
  get metrics(): readonly RlMetric[] {
    return this.#log.metrics;
  }

  /** Undefined before the first update. */
  get secondsLeft(): number | undefined {
    return secondsLeftOf(this.metrics);
  }

  /** @throws UserError if the log of an earlier session is damaged */
  add(metric: RlMetric): void {
    this.#log.add(metric);
    this.#events.add(metric);
    this.#unwritten += metric.seconds;
    if (metric.kind === 'step' && this.#unwritten < pageEvery) return;
    this.#writePage({ kind: 'running', secondsLeft: this.secondsLeft });
  }

  /** Writes the final page and closes the files. A run that never started gets no page. */
  async end(status: TrainingStatus): Promise<void> {
    this.#writePage(status);
    this.#events.close();
    await this.#log.close();
  }

  #writePage(status: TrainingStatus): void {
    if (this.metrics.length === 0) return;
    this.#unwritten = 0;
    replaceFile(join(this.#output, trainingFiles.page), page(this.#render(this.metrics, status)));
  }
}

function scalars(metric: RlMetric): Scalars {
  if (metric.kind === 'evaluation')
    return { 'return/held out': metric.meanReward, 'return/of policies': metric.policyReturn };
  if (metric.kind !== 'step') return {};
  const { clipShare, entropy, flat, gradientNorm, kl, learningRate, loss, mismatch } = metric;
  return {
    'return/sampled': metric.reward,
    'return/spread in groups': metric.spread,
    'return/groups without variance': flat,
    'policy/entropy': entropy,
    'policy/kl to the reference': kl,
    'policy/clip share': clipShare,
    'policy/mismatch': mismatch,
    'policy/explained variance': metric.explainedVariance,
    'replies/tokens': metric.replyTokens,
    'replies/valid': metric.valid,
    'loss/train': loss,
    learning_rate: learningRate,
    gradient_norm: gradientNorm,
    tokens_per_second: metric.tokensPerSecond,
  };
}
