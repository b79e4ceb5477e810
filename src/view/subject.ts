/** Watches the files of a run or a training run. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { logsIn, runFiles } from '../runs/reader.js';
import { questionFile } from '../runs/requests.js';
import { trainingFiles } from '../runs/training-files.js';
import { Tail } from '../storage/tail.js';
import { resultFiles } from '../studies/plan.js';
import { Curve, TrainingFigures } from '../web/course.js';
import type { CurvePoint } from '../web/curve.js';
import { type Growth, metricKinds, type PointRow, type Update } from '../web/messages.js';
import type { Place } from './items.js';

export interface Subject {
  look(): readonly Update[];
  whole(): readonly Update[];
}

export const subjectOf = ({ item, path }: Place): Subject | undefined => {
  switch (item.kind) {
    case 'run':
      return new RunSubject(path);
    case 'training':
      return new TrainingSubject(path);
    case 'play':
      return new FilesSubject([join(path, runFiles.manifest), logsIn(path).episodes]);
    case 'sweep':
    case 'models':
    case 'controls':
    case 'evaluation':
      return new FilesSubject([join(path, resultFiles[item.kind])]);
    default:
      return undefined;
  }
};

/** Reads a growing file to its end, in bounded steps. @returns whether the file was truncated or replaced */
function read(tail: Tail, onLine: (item: Readonly<Record<string, unknown>>) => void): boolean {
  let wasCut = false;
  for (let looks = 0; looks < 4; looks++) {
    const state = tail.look((item) => {
      if (typeof item === 'object' && item !== null) onLine(item as Record<string, unknown>);
    });
    if (state === 'again') wasCut = true;
    if (state !== 'more') break;
  }
  return wasCut;
}

const sizesOf = (files: readonly string[]) =>
  files.map((file) => {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    return `${stats?.size} ${stats?.mtimeMs}`;
  });

/** Watches an item that has no curve, but whose page may change. */
class FilesSubject implements Subject {
  readonly #files: readonly string[];
  #sizes: string;

  constructor(files: readonly string[]) {
    this.#files = files;
    this.#sizes = sizesOf(files).join();
  }

  look(): readonly Update[] {
    const before = this.#sizes;
    this.#sizes = sizesOf(this.#files).join();
    return before === this.#sizes ? [] : [{ kind: 'stale' }];
  }

  whole(): readonly Update[] {
    return [];
  }
}

const mostLost = 500;

class RunSubject implements Subject {
  readonly #evaluations: Tail;
  readonly #events: Tail;
  readonly #files: FilesSubject;
  #curve = new Curve();
  #lost: (readonly [number, number])[] = [];

  constructor(path: string) {
    const { calls, evaluations, events } = logsIn(path);
    this.#evaluations = new Tail(evaluations);
    this.#events = new Tail(events);
    const manifest = join(path, runFiles.manifest);
    this.#files = new FilesSubject([evaluations, events, calls, manifest, questionFile(path)]);
    this.#read();
    this.#curve.growth();
  }

  #read(): { readonly cut: boolean; readonly lost: boolean } {
    const cut = read(this.#evaluations, (line) => {
      const { candidate, iteration, returns, score } = line;
      if (!isNumber(iteration) || !isNumber(candidate) || !isNumber(score)) return;
      const all = Array.isArray(returns) ? returns.filter(isNumber) : [];
      const low = all.reduce((least, value) => Math.min(least, value), score);
      const high = all.reduce((most, value) => Math.max(most, value), score);
      this.#curve.add({ iteration, candidate, score, low, high });
    });
    const before = this.#lost.length;
    const cutEvents = read(this.#events, ({ candidate, iteration, kind }) => {
      if (kind !== 'proposal-rejected' || !isNumber(iteration) || !isNumber(candidate)) return;
      this.#lost.push([iteration, candidate]);
    });
    const lost = this.#lost.length !== before;
    if (this.#lost.length > 2 * mostLost) this.#lost = this.#lost.slice(-mostLost);
    if (cut || cutEvents) return { cut: true, lost };
    return { cut, lost };
  }

  look(): readonly Update[] {
    const stale = this.#files.look();
    if (stale.length === 0) return [];
    const { cut, lost } = this.#read();
    if (cut) {
      // Resuming a run removes its unfinished iteration, so read everything again.
      this.#curve = new Curve();
      this.#lost = [];
      this.#evaluations.restart();
      this.#events.restart();
      this.#read();
      this.#curve.growth();
      return [...this.whole(), ...stale];
    }
    const points = this.#curve.growth();
    return [
      ...(points === undefined ? [] : [this.#grown(points)]),
      ...(lost ? [this.#lostPlaces()] : []),
      ...stale,
    ];
  }

  #grown({ keep, added }: Growth<CurvePoint>): Update {
    return { kind: 'curve', evaluations: this.#curve.count, points: { keep, added: added.map(rowOf) } };
  }

  #lostPlaces(): Update {
    return { kind: 'lost', places: this.#lost.slice(-mostLost) };
  }

  whole(): readonly Update[] {
    return [this.#grown({ keep: 0, added: this.#curve.points() }), this.#lostPlaces()];
  }
}

const isNumber = (value: unknown): value is number => Number.isFinite(value);

const rowOf = ({ best, candidate, high, iteration, low, score }: CurvePoint): PointRow => [
  ...([iteration, candidate, score, low, high, best] as const),
];

class TrainingSubject implements Subject {
  readonly #tail: Tail;
  readonly #files: FilesSubject;
  #figures = new TrainingFigures();

  constructor(path: string) {
    const [about, metrics, samples] = (['about', 'metrics', 'samples'] as const).map((name) =>
      join(path, trainingFiles[name]),
    );
    this.#tail = new Tail(metrics!);
    this.#files = new FilesSubject([about!, metrics!, samples!]);
    this.#read();
    this.#figures.growth();
  }

  #read(): boolean {
    return read(this.#tail, (line) => this.#figures.add(line));
  }

  look(): readonly Update[] {
    const stale = this.#files.look();
    if (stale.length === 0) return [];
    if (this.#read()) {
      this.#figures = new TrainingFigures();
      this.#tail.restart();
      this.#read();
      this.#figures.growth();
      return [...this.whole(), ...stale];
    }
    return [...this.#figures.growth().map((grown) => ({ kind: 'metrics', ...grown }) as const), ...stale];
  }

  whole(): readonly Update[] {
    const rows = this.#figures.rows();
    return metricKinds.map((of) => ({ kind: 'metrics', of, rows: { keep: 0, added: rows[of] } }));
  }
}
