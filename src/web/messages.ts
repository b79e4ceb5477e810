/** Messages between server and browser. */

/** The config keys of all runs. */
export interface ConfigKeys {
  readonly keys: readonly string[];
  /** Keys whose values differ between runs. */
  readonly different: readonly string[];
}

export interface GroupMean {
  /** Number of seeds. */
  readonly count: number;
  readonly mean: number;
  /** 95% interval of the mean; null for one seed. */
  readonly interval: readonly [number, number] | null;
}

/** Statistics of the completed runs of a group, as `policyloop compare` computes them. */
export interface GroupFigures {
  readonly observed: GroupMean | null;
  readonly confirmed: GroupMean | null;
}

export interface Hit {
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

export interface Found {
  readonly hits: readonly Hit[];
  /** Number of runs that were searched completely. */
  readonly searched: number;
  readonly of: number;
}
