/** Steps that only runs with programs need: trying out proposals and tuning constants. */

import type { RandomGenerator } from '../base/random/generator.js';
import { tuningOf } from '../config/config.js';
import type { ParameterVector } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import { requireComponents } from '../policies/program/components.js';
import type { ProgramLibrary } from '../policies/program/library.js';
import { ProgramFault } from '../policies/program/program.js';
import { withConstants } from '../policies/program/source.js';
import type { ParseFailure } from '../prompting/answer/failure.js';
import type { ProposalSource } from '../proposers/proposer.js';
import { structureToTune, tuneConstants } from '../proposers/tuning.js';
import { type BufferEntry, entriesBefore } from '../rollout/replay-buffer.js';
import type { Experiment } from './parts.js';

/**
 * Tries out a program before it is compared with earlier ones. Returns its failure; undefined if it can be evaluated.
 * @param earlierEntries evaluations of earlier iterations @param by the source of the proposal
 */
export async function programFailure(
  { behavior, setting }: Experiment,
  programs: ProgramLibrary,
  known: readonly BufferEntry[],
  [parameters, by]: readonly [ParameterVector, ProposalSource],
  seeds: readonly number[],
): Promise<ParseFailure | undefined> {
  // Once the search has begun to tune a structure, other variants of it count as repeats.
  const variant = known.find((one) => one.tuned === true && one.parameters[0] === parameters[0]);
  if (by !== 'tuning' && variant !== undefined)
    return { kind: 'repeated', iteration: variant.iteration, score: variant.score, same: 'structure' };
  try {
    requireComponents(programs.program(parameters).source, setting.environment);
    await behavior.actions(parameters);
    await behavior.play(parameters, seeds);
  } catch (error) {
    if (error instanceof ProgramFault) return { kind: 'program', ...error.failure };
    throw error;
  }
  return undefined;
}

/**
 * Returns a search that proposes constants for a candidate if tuning is due; undefined if it is the proposer's turn.
 * @param inFlightCount number of candidates before this one, which are in flight
 */
export function tuningFor(experiment: Experiment, iteration: number, before: number) {
  const { config, setting } = experiment;
  const programs = programsOf(setting.family);
  const tuning = tuningOf(config);
  if (programs === undefined || tuning === undefined) return undefined;
  const proposed = entriesBefore(experiment.buffer.entries, iteration).filter(
    ({ source }) => source === 'proposal',
  );
  const structure = structureToTune(proposed, tuning, before);
  if (structure === undefined) return undefined;
  const variants = proposed.filter(({ parameters }) => parameters[0] === structure);
  const program = programs.program(variants[0]!.parameters);
  return {
    by: tuning.by,
    async propose(random: RandomGenerator): Promise<ParameterVector> {
      const constants = await tuneConstants(tuning.by, program.constants, variants, random);
      return programs.add(withConstants(program, constants));
    },
  };
}
