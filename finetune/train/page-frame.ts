/** The frame of every training page: title, status, facts, alarms, and how to resume or use the result. */
import { basename } from 'node:path';
import { stringify } from 'yaml';
import { UserError } from '../../src/base/errors.js';
import { version } from '../../src/base/package.js';
import { type Content, type Html, html, preformatted } from '../../src/format/html.js';
import { formatCount, formatDuration, formatTime } from '../../src/format/numbers.js';
import { type Controlled, controlledText } from '../../src/runs/requests.js';
import { largest } from '../../src/statistics/descriptive.js';
import type { Page, Section } from '../../src/web/page.js';
import { alarmList } from '../dataset/dataset-page.js';

export type TrainingStatus =
  /** `secondsLeft` is undefined before the first step. */
  | { readonly kind: 'running'; readonly secondsLeft: number | undefined }
  | { readonly kind: 'interrupted' }
  /** The process ended without recording it. */
  | { readonly kind: 'crashed' }
  /** `result`: path of the adapter, model or policy, as shown on the command line. */
  | { readonly kind: 'complete' | 'early'; readonly result: string }
  | { readonly kind: 'failed'; readonly message: string; readonly remedy?: string | undefined };

/** Status of a run that ended with an error. */
export function failed(error: unknown): TrainingStatus {
  const [problem] = error instanceof UserError ? error.problems : [];
  if (problem !== undefined) return { kind: 'failed', message: problem.message, remedy: problem.remedy };
  return { kind: 'failed', message: error instanceof Error ? error.message : String(error) };
}

/** Outcome of a failed run for `training.json`. */
export function failedOutcome(error: unknown, metrics: readonly { readonly step: number }[]) {
  const message = error instanceof Error ? error.message : String(error);
  const { message: shown } = { message, ...failed(error) };
  return { ended: 'failed', step: metrics.at(-1)?.step ?? 0, message: shown };
}

const isDone = ({ kind }: TrainingStatus): boolean => kind === 'complete' || kind === 'early';

/** The fields of metrics that the frame reads; every kind of training has them. */
interface TimedMetric {
  readonly kind: string;
  readonly time: string;
  readonly seconds: number;
  readonly step: number;
  readonly totalSteps?: number;
  readonly message?: string;
  readonly remedy?: string;
  readonly action?: Controlled['action'];
}

/** Content of a training run's page. */
export interface TrainingReport<C, M> {
  /** Command line that started the run and resumes it. */
  readonly command: string;
  readonly config: C;
  /** All metrics of the run, in order, with at least one `start`. */
  readonly metrics: readonly M[];
  readonly status: TrainingStatus;
}

export interface TrainingFrame
  extends TrainingReport<{ readonly $schema?: string | undefined; readonly output: string }, TimedMetric> {
  /** Kind of training, shown in the header after "policyloop". */
  readonly what: 'training' | 'reinforcement learning';
  /** The model or policy. */
  readonly subject: string;
  /** Joins `subject` and `object`, e.g. "trained on". */
  readonly relation: string;
  /** The dataset or environment. */
  readonly object: string;
  readonly facts: readonly (readonly [string, Content])[];
  readonly unit: 'step' | 'update';
  /** Why the run stopped early. */
  readonly early: string;
  /** Other notices about the result. */
  readonly notices?: readonly Notice[];
}

interface Notice {
  readonly message: string;
  readonly remedy?: string | undefined;
}

/** Builds the page. External text is escaped; `sections` are shown between result and config. */
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
      : { id: 'use', title: 'Resume', content: resumption(frame) },
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

/** A run counts as stalled after a minute, plus three times its longest event, without news. */
const followed = (metrics: readonly TimedMetric[]) => ({
  written: metrics.at(-1)?.time ?? '',
  silence: 60 + 3 * largest(metrics.map(({ seconds }) => seconds)),
});

function header(frame: TrainingFrame): Html {
  const { config, facts, metrics, object, relation, status, subject, what } = frame;
  // Uses the same status names as pages of runs.
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
${requests.length > 0 && html`<div><dt>commands</dt><dd>${requests.slice(-mostRequests).join('; ')}</dd></div>`}
</dl>
</header>`;
}

const mostRequests = 4;

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
      return 'killed; the same command resumes from the checkpoint';
    case 'interrupted':
      return 'by the user; the same command resumes from the checkpoint';
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

const resumeTexts = {
  running: 'If training was killed, this command resumes from the last checkpoint:',
  crashed: 'This command resumes from the last checkpoint:',
  interrupted: 'This command resumes from the last checkpoint:',
  failed:
    'After you fix the cause, this command resumes from the last checkpoint; different settings need another output:',
};

function resumption({ command, status }: TrainingFrame): Html {
  return html`<p>${resumeTexts[status.kind as keyof typeof resumeTexts]}</p>
${preformatted(command)}`;
}

/** The error of a failed run, and each distinct alarm, shown once even if several sessions raised it. */
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
