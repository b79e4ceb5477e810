/** Stores the learner's states after the last updates in the run's directory. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../../src/base/errors.js';
import {
  type CheckpointOwner,
  checkpointThreads,
  readCheckpoint,
  type TrainingState,
  writeCheckpoint,
} from '../../engine/checkpoint.js';
import type { Parameter } from '../../engine/training-session.js';

/**
 * Number of states to keep. An iteration is recorded only after the next one has begun, so a run may resume
 * from before its last two updates. A missing state is recomputed from the run's log.
 */
const kept = 3;

const stateFile = /^after-(\d+)\.safetensors$/;

export class LearnerStates {
  readonly #folder: string;

  /** @param run directory of the run */
  constructor(run: string) {
    this.#folder = join(run, 'learning');
  }

  /** Number of threads used so far; undefined before the first update. */
  get threads(): number | undefined {
    const [last] = this.#iterations();
    return last === undefined ? undefined : orNothing(() => checkpointThreads(this.#file(last)));
  }

  write(iteration: number, state: TrainingState, owner: CheckpointOwner): void {
    mkdirSync(this.#folder, { recursive: true });
    writeCheckpoint(this.#file(iteration), state, owner);
    for (const old of this.#iterations().slice(kept)) rmSync(this.#file(old));
  }

  /**
   * Returns the latest usable state at or before iteration `completed`. Removes all states after it, and
   * temporary files that a killed process left.
   */
  restore(
    completed: number,
    parameters: readonly Parameter[],
    identity: string,
  ): { readonly iteration: number; readonly state: TrainingState } | undefined {
    if (!existsSync(this.#folder)) return undefined;
    for (const name of readdirSync(this.#folder)) if (name.endsWith('.tmp')) rmSync(join(this.#folder, name));
    for (const iteration of this.#iterations()) {
      const file = this.#file(iteration);
      const state =
        iteration > completed ? undefined : orNothing(() => readCheckpoint(file, parameters, identity));
      if (state !== undefined) return { iteration, state };
      rmSync(file);
    }
    return undefined;
  }

  /** Latest first. */
  #iterations(): readonly number[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .flatMap((name) => Number(stateFile.exec(name)?.[1] ?? []))
      .toSorted((a, b) => b - a);
  }

  #file = (iteration: number) => join(this.#folder, `after-${iteration}.safetensors`);
}

/** A state torn by a system crash counts as missing; it is recomputed from the log. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
