/** Summaries of runs and training runs as items of a list. */
import { basename } from 'node:path';
import type { RunSummary } from '../summary.js';
import { measuredText, type RecordedTraining } from '../training/trainings.js';
import type { Item } from './item.js';

/** Values of an item about which nothing is known. */
export const unknown = {
  seed: null,
  calls: null,
  minutes: null,
  tags: [],
  environment: null,
  model: null,
  done: 0,
  of: 0,
  observed: null,
  confirmed: null,
  ci95: null,
  tokens: null,
  cost: null,
  started: null,
};

type Recorded = Omit<Item, 'name' | 'within' | 'tags'>;

export function runItem({ confirmed, ended, manifest, observed, status, tokens }: RunSummary): Recorded {
  const { activeMs, created, environment, iterations, model, play, reason, seed, usage } = manifest;
  return {
    status,
    environment,
    seed,
    observed,
    tokens,
    done: iterations.done,
    of: iterations.of,
    kind: play === undefined ? 'run' : 'play',
    model: play === undefined || play.player === 'model' ? model : play.player,
    confirmed: confirmed?.mean ?? play?.meanReturn ?? null,
    ci95: confirmed?.ci95 ?? play?.ci95 ?? null,
    ...(status === 'failed' && reason?.kind === 'no-proposals' && { fault: ended }),
    calls: usage.calls,
    cost: usage.cost ?? null,
    minutes: activeMs / 60_000,
    started: created,
  };
}

export function trainingItem(training: RecordedTraining): Recorded {
  const { best, model, on, seconds, started, status, steps, tokens, unit } = training;
  return {
    ...unknown,
    kind: 'training',
    status,
    started,
    tokens,
    ...steps,
    unit,
    environment: on === null ? null : basename(on),
    model: model === null ? null : basename(model),
    minutes: seconds / 60,
    observed: best?.kind === 'return' ? best.value : null,
    ...(best && { final: { value: measuredText(best), of: `${best.name} at ${unit} ${best.step}` } }),
  };
}

/** The totals of a directory of runs; if its runs differ in a text, how many texts there are. */
export function totalsOf(items: readonly Item[]) {
  const either = (of: (item: Item) => string | null, plural: string) => {
    const values = new Set(items.map(of));
    return values.size > 1 ? `${values.size} ${plural}` : ([...values][0] ?? null);
  };
  const total = (of: (item: Item) => number | null) => items.reduce((sum, item) => sum + (of(item) ?? 0), 0);
  return {
    done: items.filter(({ status }) => status === 'completed').length,
    of: items.length,
    tokens: total(({ tokens }) => tokens),
    cost: items.some(({ cost }) => cost !== null) ? total(({ cost }) => cost) : null,
    environment: either(({ environment }) => environment, 'environments'),
    model: either(({ model }) => model, 'models'),
    started: items.map(({ started }) => started ?? '').toSorted()[0] || null,
  };
}
