/** Curves of runs and training runs, with bounded length. */
import type { CurvePoint } from './curve.js';
import { type Growth, type MetricKind, metricKinds, type Row, type TrainingRows } from './messages.js';

const mostStretches = 2048;

interface Stretch<T> {
  low: T;
  high: T;
}

/** A run's evaluations; for a long run, the lowest and highest of each stretch. */
export class Curve {
  #stretches: Stretch<CurvePoint>[] = [];
  /** Evaluations per stretch. */
  #size = 1;
  #count = 0;
  #best = Number.NEGATIVE_INFINITY;
  /** The first stretch that changed since the last call to `growth`. */
  #changed = 0;

  get count(): number {
    return this.#count;
  }

  add(evaluation: Omit<CurvePoint, 'best'>): void {
    this.#best = Math.max(this.#best, evaluation.score);
    const point = { ...evaluation, best: this.#best };
    const at = Math.floor(this.#count++ / this.#size);
    const own = this.#stretches[at];
    if (own === undefined) this.#stretches.push({ low: point, high: point });
    else if (point.score > own.high.score) own.high = point;
    else if (point.score < own.low.score) own.low = point;
    this.#changed = Math.min(this.#changed, at);
    if (this.#stretches.length > mostStretches) this.#merge();
  }

  #merge(): void {
    this.#stretches = pairs(this.#stretches).map(([a, b]) => ({
      low: b === undefined || a.low.score <= b.low.score ? a.low : b.low,
      high: b === undefined || a.high.score >= b.high.score ? a.high : b.high,
    }));
    this.#size *= 2;
    this.#changed = 0;
  }

  /** Changes since the last call; undefined if there are none. */
  growth(): Growth<CurvePoint> | undefined {
    if (this.#changed >= this.#stretches.length) return undefined;
    let keep = 0;
    for (let i = 0; i < this.#changed; i++)
      keep += this.#stretches[i]!.low === this.#stretches[i]!.high ? 1 : 2;
    const added = flat(this.#stretches.slice(this.#changed));
    this.#changed = this.#stretches.length;
    return { keep, added };
  }

  points(): readonly CurvePoint[] {
    return flat(this.#stretches);
  }
}

const flat = (stretches: readonly Stretch<CurvePoint>[]) =>
  stretches.flatMap(({ low, high }) =>
    low === high ? [low] : isBefore(low, high) ? [low, high] : [high, low],
  );

const isBefore = (a: CurvePoint, b: CurvePoint) =>
  a.iteration < b.iteration || (a.iteration === b.iteration && a.candidate < b.candidate);

function pairs<T>(items: readonly T[]): readonly (readonly [T, T | undefined])[] {
  return Array.from({ length: Math.ceil(items.length / 2) }, (_, i) => [items[2 * i]!, items[2 * i + 1]]);
}

const mostRows = 1024;

/** Maximum number of metrics, because a malicious file may have any number. */
const mostFigures = 40;

/** Lines of metrics; for a long training run, the mean of each stretch. */
export class Figures {
  #rows: Record<string, number>[] = [];
  #counts: number[] = [];
  #size = 1;
  #changed = 0;
  readonly #names = new Set<string>();

  /** Adds a line, keeping only its finite numbers. */
  add(line: Readonly<Record<string, unknown>>): void {
    const row: Record<string, number> = Object.create(null);
    for (const [name, value] of Object.entries(line)) {
      if (typeof value !== 'number' || !Number.isFinite(value)) continue;
      if (!this.#names.has(name) && this.#names.size >= mostFigures) continue;
      this.#names.add(name);
      row[name] = value;
    }
    const last = this.#rows.length - 1;
    if (last < 0 || this.#counts[last]! >= this.#size) {
      this.#rows.push(row);
      this.#counts.push(1);
    } else {
      this.#rows[last] = meanOf(this.#rows[last]!, this.#counts[last]!, row, 1);
      this.#counts[last]!++;
    }
    this.#changed = Math.min(this.#changed, this.#rows.length - 1);
    if (this.#rows.length > mostRows) this.#merge();
  }

  #merge(): void {
    const counts = pairs(this.#counts);
    this.#rows = pairs(this.#rows).map(([a, b], i) =>
      b === undefined ? a : meanOf(a, counts[i]![0], b, counts[i]![1]!),
    );
    this.#counts = counts.map(([a, b]) => a + (b ?? 0));
    this.#size *= 2;
    this.#changed = 0;
  }

  growth(): Growth<Row> | undefined {
    if (this.#changed >= this.#rows.length) return undefined;
    const growth = { keep: this.#changed, added: this.#rows.slice(this.#changed) };
    this.#changed = this.#rows.length;
    return growth;
  }

  rows(): readonly Row[] {
    return this.#rows;
  }
}

/** The weighted mean of each metric, except `step`, which keeps its last value. */
function meanOf(a: Row, countA: number, b: Row, countB: number): Record<string, number> {
  const mean: Record<string, number> = Object.create(null);
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const [x, y] = [a[name], b[name]];
    mean[name] =
      name === 'step' || x === undefined || y === undefined
        ? (y ?? x)!
        : (x * countA + y * countB) / (countA + countB);
  }
  return mean;
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
    return { step: step.rows(), validation: validation.rows(), evaluation: evaluation.rows() };
  }
}
