/** Steps that only runs with programs need: trying out proposals, finding repeats by behaviour, tuning constants. */

import type { RandomGenerator } from '../base/random/generator.js';
import { evaluationSeeds } from '../base/random/seeds.js';
import { tuningOf } from '../config/config.js';
import { isRemote } from '../environments/remote/remote-environment.js';
import type { ParameterVector } from '../policies/policy.js';
import { programsOf } from '../policies/policy.js';
import { requireComponents } from '../policies/program/components.js';
import { ProgramFault } from '../policies/program/program.js';
import { withConstants } from '../policies/program/source.js';
import type { ParseFailure } from '../prompting/answer/failure.js';
import type { Check } from '../proposers/proposer.js';
import { tunedConstants, tuningDue } from '../proposers/tuning.js';
import { entriesBefore } from '../rollout/replay-buffer.js';
import type { Experiment } from './parts.js';

/**
 * Returns the trial of an iteration's programs before they are accepted; undefined for other kinds of policies. It plays
 * the episodes of the evaluation, which then plays them again and counts.
 */
export function trialIn(experiment: Experiment, iteration: number): Check | undefined {
  const { behaviour, config, setting } = experiment;
  if (behaviour === undefined) return undefined;
  const fresh = config.evaluation.seeds === 'fresh' ? iteration : undefined;
  const seeds = evaluationSeeds(config.seed, config.evaluation.episodes, fresh);
  // Episodes of remote environments are slow, so play only one.
  const played = isRemote(setting.environment) ? seeds.slice(0, 1) : seeds;
  /** A hash of the actions that a program takes; undefined if it fails, as even an accepted one can on fresh seeds. */
  const playing = (parameters: ParameterVector) =>
    behaviour.playing(parameters, played).catch((error: unknown) => {
      if (!(error instanceof ProgramFault)) throw error;
    });
  return async (parameters, beside, isTuned): Promise<ParseFailure | undefined> => {
    const known = entriesBefore(experiment.buffer.entries, iteration);
    const earlier = [...known, ...beside.map((own) => ({ parameters: own, iteration, score: undefined }))];
    const repeats = (
      { iteration: at, score }: (typeof earlier)[number],
      same: 'actions' | 'structure',
    ): ParseFailure => ({ kind: 'repeated', iteration: at, ...(score !== undefined && { score }), same });
    // Once the search has begun to tune a structure, the model's variants of it count as repeats.
    const [structure] = parameters;
    const variant = isTuned
      ? undefined
      : known.find((one) => one.tuned === true && one.parameters[0] === structure);
    if (variant) return repeats(variant, 'structure');
    try {
      requireComponents(programsOf(setting.family)!.program(parameters).source, setting.environment);
      const actions = await behaviour.actions(parameters);
      const own = await behaviour.playing(parameters, played);
      for (const one of isTuned || actions === undefined ? [] : earlier) {
        if ((await behaviour.actions(one.parameters)) !== actions) continue;
        if ((await playing(one.parameters)) === own) return repeats(one, 'actions');
      }
    } catch (error) {
      if (error instanceof ProgramFault) return { kind: 'program', ...error.failure };
      throw error;
    }
    return undefined;
  };
}

/**
 * Proposes constants for a candidate if tuning is due; undefined if the run's proposer has its turn.
 * @param before number of candidates before this one, which are in flight
 */
export function tuningFor(experiment: Experiment, iteration: number, before: number) {
  const { config, setting } = experiment;
  const programs = programsOf(setting.family);
  const tune = tuningOf(config);
  if (programs === undefined || tune === undefined) return undefined;
  const proposed = entriesBefore(experiment.buffer.entries, iteration).filter(
    ({ source }) => source === 'proposal',
  );
  const structure = tuningDue(proposed, tune, before);
  if (structure === undefined) return undefined;
  const own = proposed.filter(({ parameters }) => parameters[0] === structure);
  const program = programs.program(own[0]!.parameters);
  return {
    by: tune.by,
    async propose(random: RandomGenerator): Promise<ParameterVector> {
      const constants = await tunedConstants(tune.by, program.constants, own, random);
      return programs.add(withConstants(program, constants));
    },
  };
}
