import type { Config } from '../../config/config.js';
import type { ParameterSpec, PolicyDescription } from '../../policies/policy.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import type { LoggedEvent } from '../../runs/events.js';
import type { RunSummary } from '../../runs/summary.js';

/** Everything that a report shows of a run, read from its directory. */
export interface RunData extends RunSummary {
  /** The resolved config. */
  readonly config: Config;
  /** Content of `config.yaml` in the run directory. */
  readonly configYaml: string;
  readonly parameters: ParameterSpec;
  readonly policy: PolicyDescription;
  /** The replay buffer, oldest first. */
  readonly entries: readonly BufferEntry[];
  /** Every model call, oldest first; read from disk on each iteration. */
  readonly calls: Iterable<CallRecord>;
  /** Every event, oldest first; read from disk on each iteration. */
  readonly events: Iterable<LoggedEvent>;
  /** Descriptions of unreadable parts; complete once calls and events have been read. */
  readonly faults: readonly string[];
  /** Animations of its best, worst and first policy; empty if the environment can't be drawn. */
  readonly animations: Animations;
}

/** An animated episode. */
export interface ShownEpisode {
  /** `Best`, or `Best and first` if they are the same policy. */
  readonly name: string;
  readonly iteration: number;
  readonly candidate: number;
  /** Mean return of its evaluation. */
  readonly score: number;
  /** Return of this episode. */
  readonly return: number;
  readonly length: number;
  /** The return recorded by the evaluation; if it differs, the environment has changed. */
  readonly recorded: number;
  /** The animation, as an SVG document. */
  readonly svg: string;
}

export interface Animations {
  readonly episodes: readonly ShownEpisode[];
  /** Pictures drawn during the run; paths are relative to the report. */
  readonly files: readonly { readonly iteration: number; readonly file: string }[];
}
