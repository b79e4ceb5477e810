/** What the server and the browser say to each other. */

export type ItemKind =
  | 'run'
  | 'play'
  | 'training'
  | 'repeats'
  | 'controls'
  | 'collection'
  | 'evaluation'
  | 'sweep'
  | 'models';

/** A run, a training, or what holds several runs. */
export interface Item {
  /** Its path below the directory: what it is called in addresses. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly status: 'running' | 'paused' | 'crashed' | 'interrupted' | 'failed' | 'completed';
  readonly environment: string | null;
  readonly model: string | null;
  /** Iterations, games, steps, or runs that are complete. */
  readonly done: number;
  readonly of: number;
  /** Highest observed mean return; of a training, its best held-out return. */
  readonly observed: number | null;
  /** Mean return on unseen episodes; of a play, of its games. */
  readonly confirmed: number | null;
  readonly ci95: readonly [number, number] | null;
  readonly tokens: number | null;
  readonly cost: number | null;
  /** ISO 8601. */
  readonly started: string | null;
  readonly seed: number | null;
  readonly calls: number | null;
  readonly minutes: number | null;
  /** What a person says of it. */
  readonly tags: readonly string[];
  readonly note: string | null;
  /** The outermost item that it is part of. */
  readonly within: string | null;
  /** Why nothing is known of it, or nothing came of it. */
  readonly fault?: string;
}

/** A change of a list: what is kept of its beginning, and what follows then. */
export interface Growth<T> {
  readonly keep: number;
  readonly added: readonly T[];
}

/** Figures of a line of metrics. */
export type Row = Readonly<Record<string, number>>;

/** An evaluation as pages get it: iteration, candidate, score, lowest and highest return, best so far. */
export type PointRow = readonly [number, number, number, number, number, number];

/** Kinds of lines of a training that have a course. */
type MetricKind = 'step' | 'validation' | 'evaluation';

/** What a run waits for a person to answer. */
export interface ShownQuestion {
  readonly open: {
    /** Names it within its run. */
    readonly question: string;
    /** What is to be seen, in words. */
    readonly text: string;
    /** Address of the animation; null where nothing can be drawn. */
    readonly picture: string | null;
    /** Characters that a remark may have. */
    readonly longestRemark: number;
  } | null;
}

export type Update =
  | { readonly kind: 'curve'; readonly evaluations: number; readonly points: Growth<PointRow> }
  /** Proposals that came to nothing: iteration and candidate, the latest ones. */
  | { readonly kind: 'lost'; readonly places: readonly (readonly [number, number])[] }
  | { readonly kind: 'metrics'; readonly of: MetricKind; readonly rows: Growth<Row> }
  | { readonly kind: 'alarms'; readonly alarms: readonly Alarm[] }
  /** The page of it says more by now. */
  | { readonly kind: 'stale' };

export interface Alarm {
  readonly step: number;
  readonly message: string;
  readonly remedy: string | null;
}

/** A place that a search found. */
export interface Hit {
  readonly of: string;
  readonly iteration: number;
  readonly candidate: number;
  readonly attempt: number;
  /** `reply`, `reasoning`, or the role of a message of the prompt. */
  readonly where: string;
  /** The text around it. */
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

export interface Found {
  readonly hits: readonly Hit[];
  /** Runs and plays that were read to their end, of all. */
  readonly searched: number;
  readonly of: number;
}
