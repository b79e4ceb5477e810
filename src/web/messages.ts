/** Messages between server and browser. */

/** The content of a page, which is saved to a file or sent to the live view. @template T representation of content */
export interface PageContent<T> {
  readonly title: string;
  readonly header: T;
  readonly sections: readonly { readonly id: string; readonly title: string; readonly content: T }[];
  readonly footer: T;
  /** Config keys that differ between the runs of a study; the live view shows them in its table of runs. */
  readonly keys?: readonly string[];
}

export interface ConfigKeys {
  readonly keys: readonly string[];
  /** Keys whose values differ between runs. */
  readonly different: readonly string[];
}

/** The mean over the seeds of a group, with its 95% interval (null for too few seeds; see `interval95`). */
interface GroupMean {
  readonly mean: number;
  readonly meanInterval: readonly [number, number] | null;
}

/** Statistics of a group's completed and failed runs, as `policyloop compare` computes them. */
export type GroupMeans = Readonly<Record<'observed' | 'confirmed', GroupMean | null>>;

export interface SearchHit {
  readonly of: string;
  readonly iteration: number;
  readonly candidate: number;
  readonly attempt: number;
  /** `reply`, `reasoning`, or the role of a prompt's message. */
  readonly where: string;
  readonly before: string;
  readonly match: string;
  readonly after: string;
}

export interface SearchResult {
  readonly hits: readonly SearchHit[];
  /** Number of runs that were searched completely. */
  readonly searched: number;
  readonly of: number;
}
