/** Watches the files of a run, training run or study. */
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { logsIn, runFiles } from '../runs/reader.js';
import { trainingFiles } from '../runs/training-files.js';
import { largest, smallest } from '../statistics/descriptive.js';
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
  const { calls, episodes, evaluations, events } = logsIn(path);
  const manifest = join(path, runFiles.manifest);
  switch (item.kind) {
    case 'run':
      return new CourseSubject([evaluations, events, calls, manifest], () => runCourse(evaluations, events));
    case 'training': {
      const [about, metrics, samples] = (['about', 'metrics', 'samples'] as const).map((name) =>
        join(path, trainingFiles[name]),
      );
      return new CourseSubject([about!, metrics!, samples!], () => trainingCourse(metrics!));
    }
    case 'play':
      return new FilesSubject([manifest, episodes]);
    case 'sweep':
    case 'evaluation':
      return new FilesSubject([join(path, resultFiles[item.kind])]);
    default:
      return undefined;
  }
};

/** Reads what was appended to a file, in at most four steps. @returns `more` if that wasn't all */
function read(
  tail: Tail,
  onLine: (item: Readonly<Record<string, unknown>>) => void,
): ReturnType<Tail['look']> {
  let state: ReturnType<Tail['look']> = 'more';
  for (let looks = 0; looks < 4 && state === 'more'; looks++)
    state = tail.look((item) => {
      if (typeof item === 'object' && item !== null) onLine(item as Record<string, unknown>);
    });
  return state;
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

/** Follows the logs of an item. */
interface Course {
  /** Reads what was appended. @returns `again` if a log was truncated or replaced, `more` if there is more to read */
  read(): ReturnType<Tail['look']>;
  /** What has changed since the last call. */
  growth(): readonly Update[];
  whole(): readonly Update[];
}

/** Watches the files of an item, including its curve or metrics. */
class CourseSubject implements Subject {
  readonly #files: FilesSubject;
  readonly #open: () => Course;
  #course: Course;
  #hasMore = false;

  constructor(files: readonly string[], open: () => Course) {
    this.#files = new FilesSubject(files);
    this.#open = open;
    this.#course = this.#begun();
  }

  #begun(): Course {
    const course = this.#open();
    this.#hasMore = course.read() === 'more';
    course.growth();
    return course;
  }

  look(): readonly Update[] {
    const stale = this.#files.look();
    if (stale.length === 0 && !this.#hasMore) return [];
    const state = this.#course.read();
    this.#hasMore = state === 'more';
    if (state !== 'again') return [...this.#course.growth(), ...stale];
    // Resuming a run removes its unfinished iteration from the logs, so read everything again.
    this.#course = this.#begun();
    return [...this.whole(), ...stale];
  }

  whole(): readonly Update[] {
    return this.#course.whole();
  }
}

const mostLost = 500;

function runCourse(evaluations: string, events: string): Course {
  const tails = [new Tail(evaluations), new Tail(events)] as const;
  const curve = new Curve();
  let lost: (readonly [number, number])[] = [];
  let isNewlyLost = false;
  const grown = ({ keep, added }: Growth<CurvePoint>): Update => ({
    ...({ kind: 'curve', evaluations: curve.count } as const),
    points: { keep, added: added.map(rowOf) },
  });
  const lostPlaces = (): Update => ({ kind: 'lost', places: lost.slice(-mostLost) });
  return {
    read() {
      const evaluated = read(tails[0], ({ candidate, iteration, returns, score }) => {
        if (!isNumber(iteration) || !isNumber(candidate) || !isNumber(score)) return;
        const all = Array.isArray(returns) ? returns.filter(isNumber) : [];
        curve.add({
          iteration,
          candidate,
          score,
          low: smallest([score, ...all]),
          high: largest([score, ...all]),
        });
      });
      const happened = read(tails[1], ({ candidate, iteration, kind }) => {
        if (kind !== 'proposal-rejected' || !isNumber(iteration) || !isNumber(candidate)) return;
        lost.push([iteration, candidate]);
        isNewlyLost = true;
      });
      if (lost.length > 2 * mostLost) lost = lost.slice(-mostLost);
      const states = [evaluated, happened];
      return (['again', 'more'] as const).find((state) => states.includes(state)) ?? 'done';
    },
    growth() {
      const points = curve.growth();
      const updates = [...(points ? [grown(points)] : []), ...(isNewlyLost ? [lostPlaces()] : [])];
      isNewlyLost = false;
      return updates;
    },
    whole: () => [grown({ keep: 0, added: curve.points() }), lostPlaces()],
  };
}

const isNumber = (value: unknown): value is number => Number.isFinite(value);

const rowOf = ({ best, candidate, high, iteration, low, score }: CurvePoint): PointRow => [
  ...([iteration, candidate, score, low, high, best] as const),
];

function trainingCourse(metrics: string): Course {
  const tail = new Tail(metrics);
  const figures = new TrainingFigures();
  return {
    read: () => read(tail, (line) => figures.add(line)),
    growth: () => figures.growth().map((grown) => ({ kind: 'metrics', ...grown }) as const),
    whole() {
      const rows = figures.rows();
      return metricKinds.map((of) => ({ kind: 'metrics', of, rows: { keep: 0, added: rows[of] } }));
    },
  };
}
