/** Runs, training runs and directories of runs as items of a list. Browsers also load this file. */

const singleKinds = ['run', 'play', 'training'] as const;
const studyKinds = ['evaluation', 'sweep'] as const;

export const itemKinds = [...singleKinds, ...studyKinds];

export type ItemKind = (typeof itemKinds)[number];

export const holdsRuns = ({ kind }: Pick<Item, 'kind'>): boolean =>
  (studyKinds as readonly ItemKind[]).includes(kind);

export const itemStatuses = ['running', 'crashed', 'interrupted', 'failed', 'completed'] as const;

/** A run, a training run, or a directory of several runs. */
export interface Item {
  /** Path relative to a root directory, preceded by the root's prefix. */
  readonly name: string;
  readonly kind: ItemKind;
  readonly status: (typeof itemStatuses)[number];
  readonly environment: string | null;
  readonly model: string | null;
  /** Number of completed iterations, games, training steps, updates or runs; `of`: the planned number. */
  readonly done: number;
  readonly of: number;
  /** Highest observed mean return; for a training run, the best held-out return or score. */
  readonly observed: number | null;
  /** The best measurement of a training run; `of` describes it, for example `validation loss at step 24`. */
  readonly final?: { readonly value: string; readonly of: string };
  /** Unit of `done` for a training run. */
  readonly unit?: 'step' | 'update';
  /** Mean return on fresh episodes; for an agent run, over its games. */
  readonly confirmed: number | null;
  readonly ci95: readonly [number, number] | null;
  readonly tokens: number | null;
  readonly cost: number | null;
  /** ISO 8601. */
  readonly started: string | null;
  readonly seed: number | null;
  readonly calls: number | null;
  readonly minutes: number | null;
  readonly tags: readonly string[];
  /** Name of the outermost sweep or evaluation that contains it; null if none does. */
  readonly within: string | null;
  /** Why the item can't be read. */
  readonly fault?: string;
  /** Why no proposal was accepted, if the run failed for that reason. */
  readonly failure?: string;
  /** The requested values of the config, by key. */
  readonly settings?: Readonly<Record<string, string>>;
}
