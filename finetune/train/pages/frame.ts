/** What the pages of all trainings have alike: title, state, facts, how to go on, alarms, and the place of the result. */
import { basename } from 'node:path';
import { stringify } from 'yaml';
import { UserError } from '../../../src/base/errors.js';
import { version } from '../../../src/base/package.js';
import { type Content, type Html, html, preformatted } from '../../../src/format/html.js';
import { formatCount, formatDuration, formatTime } from '../../../src/format/numbers.js';
import type { Page, Section } from '../../../src/report/page/page.js';
import { type Controlled, controlledText } from '../../../src/runs/control.js';
import { largest } from '../../../src/statistics/descriptive.js';
import { alarmList } from '../../dataset/dataset-page.js';

export type TrainingStatus =
  /** `secondsLeft`: undefined before the first step. */
  | { readonly kind: 'running'; readonly secondsLeft: number | undefined }
  | { readonly kind: 'interrupted' }
  /** No process writes it, and none closed it. */
  | { readonly kind: 'crashed' }
  /** `result`: path of the adapter, model or policy, as a command line is to name it. */
  | { readonly kind: 'complete' | 'early'; readonly result: string }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy?: string | undefined };

/** What is told of a training that an error ended. */
export function failed(error: unknown): TrainingStatus {
  const [problem] = error instanceof UserError ? error.problems : [];
  if (problem !== undefined) return { kind: 'failed', message: problem.message, remedy: problem.remedy };
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
}

/** The same for `training.json`. */
export function failedOutcome(error: unknown, metrics: readonly { readonly step: number }[]) {
  const message = error instanceof Error ? error.message : String(error);
  const { message: said } = { message, ...failed(error) };
  return { ended: 'failed', step: metrics.at(-1)?.step ?? 0, message: said };
}

const isDone = ({ kind }: TrainingStatus): boolean => kind === 'complete' || kind === 'early';

/** What the frame reads of the metrics of any training. */
interface TimedMetric {
  readonly kind: string;
  readonly time: string;
  readonly seconds: number;
  readonly step: number;
  readonly totalSteps?: number;
  readonly message?: string;
  readonly remedy?: string;
  /** What a request asked for that was heeded. */
  readonly action?: Controlled['action'];
}

export interface TrainingFrame {
  /** As in "policyloop training". */
  readonly what: 'training' | 'reinforcement learning';
  /** What is trained. */
  readonly subject: string;
  /** The word between it and `object`, such as "in". */
  readonly relation: string;
  /** What it is trained on, or in. */
  readonly object: string;
  readonly config: { readonly $schema?: string | undefined; readonly output: string };
  /** Each with its title, after the state. */
  readonly facts: readonly (readonly [string, Content])[];
  /** What a step is called. */
  readonly unit: 'step' | 'update';
  /** Why it ended before its last step. */
  readonly early: string;
  /** The command line that made it, and goes on with it. */
  readonly command: string;
  /** All metrics, in order. */
  readonly metrics: readonly TimedMetric[];
  readonly status: TrainingStatus;
  /** What else a reader is to know before the result. */
  readonly notices?: readonly Notice[];
}

interface Notice {
  readonly message: string;
  readonly remedy?: string | undefined;
}

/**
 * Texts from outside are escaped.
 * @param sections between result and config, some of which may be missing
 * @param use how the result is used, once it is there
 */
export function trainingPage(
  frame: TrainingFrame,
  result: Html,
  use: Content,
  sections: readonly (Section | undefined)[],
): Page {
  const { config, metrics, object, relation, status, subject } = frame;
  const { $schema: _, ...settings } = config;
  const alarms = alarmsOf(frame);
  const all: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: result },
    alarms && { id: 'alarms', title: 'Alarms', content: alarms },
    isDone(status)
      ? { id: 'use', title: 'Use it', content: use }
      : { id: 'use', title: 'Go on', content: goOn(frame) },
    ...sections,
    { id: 'config', title: 'Config', content: preformatted(stringify(settings)) },
  ];
  const isRunning = status.kind === 'running';
  return {
    following: isRunning ? followed(metrics) : undefined,
    title: `${isRunning ? `${doneText(metrics)} ` : ''}${basename(config.output)}: ${subject} ${relation} ${object}`,
    header: header(frame),
    sections: all.filter((section) => section !== undefined),
    footer: html`<p>State as of ${formatTime(metrics.at(-1)?.time ?? '')}. Written by policyloop ${version()}.</p>`,
  };
}

/** Nothing was heard of a training for long where it took three times as long as anything before. */
const followed = (metrics: readonly TimedMetric[]) => ({
  written: metrics.at(-1)?.time ?? '',
  silence: 60 + 3 * largest(metrics.map(({ seconds }) => seconds)),
});

function header(frame: TrainingFrame): Html {
  const { config, facts, metrics, object, relation, status, subject, what } = frame;
  // The status of a run that went alike, so that the pages agree.
  const isPaused = status.kind === 'running' && isPausedBy(metrics);
  const state = isDone(status) ? 'completed' : isPaused ? 'paused' : status.kind;
  const requests = requestsIn(frame);
  const [first] = metrics;
  return html`<header>
<p class="kicker">policyloop ${what} <b>${basename(config.output)}</b></p>
<h1>${subject} <span class="by">${relation}</span> ${object}</h1>
<p class="state"><span class="status ${state}">${state}</span> ${stateText(frame)}</p>
<dl class="facts">
${facts.map(([title, content]) => html`<div><dt>${title}</dt><dd>${content}</dd></div>`)}
${first && html`<div><dt>started</dt><dd>${formatTime(first.time)}</dd></div>`}
${requests.length > 0 && html`<div><dt>steered</dt><dd>${requests.slice(-mostRequests).join('; ')}</dd></div>`}
</dl>
</header>`;
}

const mostRequests = 4;

/** What other processes asked of it, in words. */
const requestsIn = ({ metrics, unit }: TrainingFrame) =>
  metrics.flatMap(({ action, step }) =>
    action === undefined
      ? []
      : [controlledText({ kind: 'controlled', request: 0, action, iteration: step, unit })],
  );

const isPausedBy = (metrics: readonly TimedMetric[]) =>
  metrics.findLast(({ kind }) => kind === 'controlled' || kind === 'start')?.action === 'pause';

function stateText({ early, metrics, status, unit }: TrainingFrame): string {
  switch (status.kind) {
    case 'running': {
      const left =
        status.secondsLeft === undefined ? '' : `, about ${formatDuration(1000 * status.secondsLeft)} left`;
      return `${unit} ${formatCount(metrics.at(-1)?.step ?? 0)} of ${formatCount(totalOf(metrics))}, ${doneText(metrics)}${left}`;
    }
    case 'crashed':
      return 'cut off without notice; the same command goes on from the checkpoint';
    case 'interrupted':
      return 'by the user; the same command goes on from the checkpoint';
    case 'complete':
      return `after all ${unit}s`;
    case 'early':
      return `early, ${early}`;
    case 'failed':
      return status.message;
  }
}

const totalOf = (metrics: readonly TimedMetric[]): number =>
  metrics.findLast((metric) => metric.kind === 'start')?.totalSteps ?? 0;

function doneText(metrics: readonly TimedMetric[]): string {
  const total = totalOf(metrics);
  return total === 0 ? '' : `${Math.floor((100 * (metrics.at(-1)?.step ?? 0)) / total)} %`;
}

const goOnTexts = {
  running:
    'The training goes on, or was cut off without notice; then the same command continues from the last checkpoint:',
  crashed: 'The same command continues from the last checkpoint:',
  interrupted: 'The same command continues from the last checkpoint:',
  failed:
    'Once its cause is mended, the same command continues from the last checkpoint; with other settings, give another output:',
};

function goOn({ command, status }: TrainingFrame): Html {
  return html`<p>${goOnTexts[status.kind as keyof typeof goOnTexts]}</p>
${preformatted(command)}`;
}

/** Why it failed, and what its alarms say: each once, though every session raises some of them again. */
function alarmsOf({ metrics, notices = [], status, unit }: TrainingFrame): Html | undefined {
  const raised = new Map<string, Notice>();
  if (status.kind === 'failed') raised.set(status.message, status);
  for (const { kind, message, remedy, step } of metrics) {
    if (kind !== 'alarm' || message === undefined) continue;
    const when = step === 0 ? '' : `${unit === 'step' ? 'Step' : 'Update'} ${formatCount(step)}: `;
    raised.set(message, { message: `${when}${message}`, remedy });
  }
  const all = [...raised.values(), ...notices];
  return all.length === 0 ? undefined : alarmList(all);
}
