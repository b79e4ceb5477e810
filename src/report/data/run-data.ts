import type { Config } from '../../config/config.js';
import type { ParameterSpec, PolicyDescription } from '../../policies/policy.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { CallRecord } from '../../runs/calls.js';
import type { LoggedEvent } from '../../runs/events.js';
import type { RunFacts } from '../../runs/facts.js';

/** Everything a report shows of one run: what its directory holds. */
export interface RunData extends RunFacts {
  /** The resolved config. */
  readonly config: Config;
  /** `config.yaml` as it stands in the run directory. */
  readonly configYaml: string;
  readonly parameters: ParameterSpec;
  readonly policy: PolicyDescription;
  /** The replay buffer, oldest first. */
  readonly entries: readonly BufferEntry[];
  /** Every model call, oldest first; read anew each time. */
  readonly calls: Iterable<CallRecord>;
  /** Every event, oldest first; read anew each time. */
  readonly events: Iterable<LoggedEvent>;
  /** What can't be read of it, in words; complete once calls and events were read. */
  readonly faults: readonly string[];
  /** Its best, worst and first policy at play; none where the environment can't be drawn. */
  readonly animations: Animations;
}

/** An episode as a moving picture. */
export interface ShownEpisode {
  /** `Best`, or `Best and first` where they are the same policy. */
  readonly name: string;
  readonly iteration: number;
  readonly candidate: number;
  /** Mean return of its evaluation. */
  readonly score: number;
  /** Return of this episode. */
  readonly return: number;
  readonly length: number;
  /** What the evaluation recorded for it; another return means that the environment has changed. */
  readonly recorded: number;
  /** The animation, as an SVG document. */
  readonly svg: string;
}

export interface Animations {
  readonly episodes: readonly ShownEpisode[];
  /** Pictures beside the report, drawn as the run went; paths are relative to it. */
  readonly files: readonly { readonly iteration: number; readonly file: string }[];
}
