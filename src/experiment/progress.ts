import process from 'node:process';
import { styleText } from 'node:util';
import { MultiBar } from 'cli-progress';
import type { CommandContext } from '../context.js';
import { formatCount, formatReturn } from '../format/console.js';
import type { Completion } from '../models/language-model.js';
import type { RunEvent } from '../runs/events.js';
import { formatCaps } from '../runs/usage-text.js';
import type { Display } from './session.js';

/** Shows a run as it goes: a bar on a terminal, a line an iteration elsewhere, a JSON object an event for machines. */
export function createDisplay(
  mode: 'auto' | 'json' | 'quiet',
  context: Pick<CommandContext, 'print' | 'note' | 'terminal'>,
): Display {
  const close = () => undefined;
  switch (mode) {
    case 'quiet':
      return {
        show: (event) => event.kind === 'warning' && context.note(warningText(event.message)),
        close,
      };
    case 'json':
      return { show: (event) => context.print(JSON.stringify(withoutBulk(event))), close };
    case 'auto':
      return context.terminal === undefined
        ? { show: plainLines(context.note), close }
        : progressBar(context.terminal);
  }
}

/** As warnings of a run are shown. */
export const warningText = (message: string) =>
  `${styleText('yellow', 'warning', { stream: process.stderr })} ${message}`;

/** Trajectories and messages stay in the run directory. */
function withoutBulk(event: RunEvent): object {
  switch (event.kind) {
    case 'call-finished': {
      const { messages: _messages, completion, ...call } = event.call;
      return {
        kind: event.kind,
        call: { ...call, ...(completion && withoutText(completion)) },
      };
    }
    case 'warmup-evaluated':
    case 'candidate-evaluated': {
      const { episodes: _episodes, ...rest } = event;
      return rest;
    }
    default:
      return event;
  }
}

function withoutText({ text: _text, reasoning: _reasoning, ...rest }: Completion): object {
  return rest;
}

/** Counts what both displays show. */
function createTally() {
  let best: { score: number; iteration: number } | undefined;
  let rejected = 0;
  let saved = 0;
  return {
    take(event: RunEvent) {
      if (event.kind === 'run-started') {
        if (event.best !== undefined) best = event.best;
        saved = event.racing?.saved ?? 0;
      }
      if (event.kind === 'warmup-evaluated' || event.kind === 'candidate-evaluated') {
        const { score, iteration, lengths, planned = lengths.length } = event.entry;
        saved += planned - lengths.length;
        if (best === undefined || score > best.score) best = { score, iteration };
      }
      if (event.kind === 'proposal-rejected') rejected++;
    },
    get best() {
      if (best === undefined) return '–';
      return `${formatReturn(best.score)} (${best.iteration === 0 ? 'warm-up' : `iteration ${best.iteration}`})`;
    },
    get rejected() {
      return rejected;
    },
    /** By racing; nothing where there are none. */
    get saved() {
      return saved === 0 ? '' : `  ${formatCount(saved)} episodes saved`;
    },
  };
}

function tokensText(event: Extract<RunEvent, { kind: 'iteration-finished' }>): string {
  const tokens = event.usage.promptTokens + event.usage.completionTokens;
  const cost = event.usage.cost === undefined ? '' : `  cost ${event.usage.cost.toFixed(4)}`;
  const used = tokens === 0 ? '' : `  ${formatCount(tokens)} tokens${cost}`;
  const faults = Object.values(event.usage.faults ?? {}).reduce((sum, count) => sum + count, 0);
  const caps = event.caps === undefined ? '' : `  limits: ${formatCaps(event.caps)}`;
  return `${used}${faults === 0 ? '' : `  ${faults} ${faults === 1 ? 'fault' : 'faults'}`}${caps}`;
}

function plainLines(note: (text: string) => void): Display['show'] {
  const tally = createTally();
  let iterations = 0;
  return (event) => {
    tally.take(event);
    switch (event.kind) {
      case 'run-started':
        iterations = event.iterations;
        note(`${event.environment}, ${event.parameters} parameters, ${event.model}`);
        if (event.resumedAt !== undefined) note(`resumed at iteration ${event.resumedAt}`);
        break;
      case 'warmup-evaluated':
        if (event.entry.candidate + 1 === event.of) note(`warm-up: ${event.of} policies, best ${tally.best}`);
        break;
      case 'iteration-finished': {
        const now = event.score === undefined ? 'rejected' : `return ${formatReturn(event.score)}`;
        note(
          `iteration ${event.iteration}/${iterations}  ${now}  best ${tally.best}${tally.saved}${tokensText(event)}`,
        );
        break;
      }
      case 'warning':
        note(warningText(event.message));
        break;
      default:
    }
  };
}

function progressBar(terminal: NodeJS.WriteStream): Display {
  const tally = createTally();
  const bars = new MultiBar({
    format:
      '{bar} {stage} {value}/{total}  now {now}  best {best}{rejected}{saved}{tokens}  {duration_formatted}, {eta_formatted} left',
    stream: terminal,
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    barCompleteChar: '━',
    barIncompleteChar: '·',
    fps: 10,
    etaBuffer: 20,
    gracefulExit: false,
  });
  const start = (total: number, value: number, stage: string) =>
    bars.create(total, value, { stage, now: '–', best: tally.best, rejected: '', saved: '', tokens: '' });
  let bar: ReturnType<typeof start> | undefined;
  let iterations = 0;
  let completed = 0;
  const begin = (total: number, value: number, stage: string) => {
    if (bar !== undefined) bars.remove(bar);
    bar = start(total, value, stage);
  };
  const show = (event: RunEvent): void => {
    tally.take(event);
    switch (event.kind) {
      case 'run-started':
        iterations = event.iterations;
        completed = (event.resumedAt ?? 1) - 1;
        terminal.write(`${event.environment}, ${event.parameters} parameters, ${event.model}\n`);
        if (event.resumedAt !== undefined) begin(iterations, completed, 'iteration');
        break;
      case 'warmup-evaluated':
        if (bar === undefined) begin(event.of, event.entry.candidate, 'warm-up');
        bar?.update(event.entry.candidate + 1, {
          now: formatReturn(event.entry.score),
          best: tally.best,
          saved: tally.saved,
        });
        if (event.entry.candidate + 1 >= event.of) begin(iterations, completed, 'iteration');
        break;
      case 'iteration-finished': {
        if (bar === undefined) begin(iterations, event.iteration - 1, 'iteration');
        bar?.update(event.iteration, {
          now: event.score === undefined ? 'rejected' : formatReturn(event.score),
          best: tally.best,
          rejected: tally.rejected > 0 ? `  ${tally.rejected} rejected` : '',
          saved: tally.saved,
          tokens: tokensText(event),
        });
        break;
      }
      case 'confirmed':
        bar?.update({ stage: 'confirming, iteration' });
        break;
      case 'warning':
        bars.log(`${warningText(event.message)}\n`);
        break;
      default:
    }
  };
  return { show, close: () => bars.stop() };
}
