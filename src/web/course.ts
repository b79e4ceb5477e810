/** Curves of runs and training runs, with bounded length. */
import type { CurvePoint } from './curve.js';
import { type Growth, type MetricKind, metricKinds, type Row, type TrainingRows } from './messages.js';

/** A list that joins neighbouring items when it gets too long; `count`: how many items were joined into one. */
class Thinned<T extends { readonly count: number }, Point> {
  #all: T[] = [];
  #size = 1;
  /** Index of the first item that changed since the last call to `growth`. */
  #changed = 0;
  readonly #most: number;
  readonly #joined: (a: T, b: T) => T;
  readonly #pointsOf: (all: readonly T[]) => readonly Point[];

  constructor(most: number, joined: (a: T, b: T) => T, pointsOf: (all: readonly T[]) => readonly Point[]) {
    this.#most = most;
    this.#joined = joined;
    this.#pointsOf = pointsOf;
  }

  protected append(one: T): void {
    const last = this.#all.at(-1);
    if (last === undefined || last.count >= this.#size) this.#all.push(one);
    else this.#all.splice(-1, 1, this.#joined(last, one));
    this.#changed = Math.min(this.#changed, this.#all.length - 1);
    if (this.#all.length <= this.#most) return;
    this.#all = this.#all.flatMap((a, i, all) => {
      const b = all[i + 1];
      return i % 2 === 1 ? [] : b === undefined ? [a] : [this.#joined(a, b)];
    });
    this.#size *= 2;
    this.#changed = 0;
  }

  /** Changes since the last call; undefined if there are none. */
  growth(): Growth<Point> | undefined {
    if (this.#changed >= this.#all.length) return undefined;
    const keep = this.#pointsOf(this.#all.slice(0, this.#changed)).length;
    const added = this.#pointsOf(this.#all.slice(this.#changed));
    this.#changed = this.#all.length;
    return { keep, added };
  }

  points(): readonly Point[] {
    return this.#pointsOf(this.#all);
  }
}

interface Stretch {
  readonly low: CurvePoint;
  readonly high: CurvePoint;
  readonly count: number;
}

const joinedStretch = (a: Stretch, b: Stretch): Stretch => ({
  low: a.low.score <= b.low.score ? a.low : b.low,
  high: a.high.score >= b.high.score ? a.high : b.high,
  count: a.count + b.count,
});

/** A run's evaluations; for a long run, only the lowest and highest of each stretch. */
export class Curve extends Thinned<Stretch, CurvePoint> {
  #best = Number.NEGATIVE_INFINITY;
  /** Number of evaluations added, including those that weren't kept. */
  count = 0;

  constructor() {
    super(2048, joinedStretch, flat);
  }

  add(evaluation: Omit<CurvePoint, 'best'>): void {
    this.count++;
    this.#best = Math.max(this.#best, evaluation.score);
    const point = { ...evaluation, best: this.#best };
    this.append({ low: point, high: point, count: 1 });
  }
}

const flat = (stretches: readonly Stretch[]) =>
  stretches.flatMap(({ low, high }) =>
    low === high ? [low] : isBefore(low, high) ? [low, high] : [high, low],
  );

const isBefore = (a: CurvePoint, b: CurvePoint) =>
  a.iteration < b.iteration || (a.iteration === b.iteration && a.candidate < b.candidate);

/** Maximum number of metrics, because a malicious file can contain any number. */
const mostFigures = 40;

interface Mean {
  readonly row: Row;
  readonly count: number;
}

/** Rows of metrics; for a long training run, the mean of each stretch. */
export class Figures extends Thinned<Mean, Row> {
  readonly #names = new Set<string>();

  constructor() {
    super(1024, joinedMean, (means) => means.map(({ row }) => row));
  }

  /** Adds a line, keeping only its finite numbers. */
  add(line: Readonly<Record<string, unknown>>): void {
    const row: Record<string, number> = Object.create(null);
    for (const [name, value] of Object.entries(line)) {
      if (typeof value !== 'number' || !Number.isFinite(value)) continue;
      if (!this.#names.has(name) && this.#names.size >= mostFigures) continue;
      this.#names.add(name);
      row[name] = value;
    }
    this.append({ row, count: 1 });
  }
}

/** The weighted mean of each metric, except `step`, which keeps its last value. */
function joinedMean(a: Mean, b: Mean): Mean {
  const row: Record<string, number> = Object.create(null);
  const count = a.count + b.count;
  for (const name of new Set([...Object.keys(a.row), ...Object.keys(b.row)])) {
    const [x, y] = [a.row[name], b.row[name]];
    const isWhole = name === 'step' || x === undefined || y === undefined;
    row[name] = isWhole ? (y ?? x)! : (x * a.count + y * b.count) / count;
  }
  return { row, count };
}

/** The figures of a training run, by kind of metric. */
export class TrainingFigures {
  readonly #figures = { step: new Figures(), validation: new Figures(), evaluation: new Figures() };

  add(line: Readonly<Record<string, unknown>>): void {
    const kind = metricKinds.find((known) => known === line.kind);
    if (kind !== undefined) this.#figures[kind].add(line);
  }

  growth(): readonly { readonly of: MetricKind; readonly rows: Growth<Row> }[] {
    return metricKinds.flatMap((of) => {
      const rows = this.#figures[of].growth();
      return rows === undefined ? [] : [{ of, rows }];
    });
  }

  rows(): TrainingRows {
    const { evaluation, step, validation } = this.#figures;
    return { step: step.points(), validation: validation.points(), evaluation: evaluation.points() };
  }
}
