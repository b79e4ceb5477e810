/** What runs do only if policies are programs: try out proposals, find repeats by behaviour, tune constants. */
import type { Observation } from '../environments/environment.js';
import { isRemote } from '../environments/remote/remote-environment.js';
import type { ParameterVector } from '../policies/policy.js';
import { programsOf } from '../policies/programs/library.js';
import { isProgramFault } from '../policies/programs/program.js';
import type { ParseFailure } from '../prompting/answer/parse.js';
import type { RandomGenerator } from '../random/generator.js';
import { evaluationSeeds } from '../random/seeds.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import { actionsOn, type EvaluationSetting, evaluate } from '../rollout/evaluation.js';
import { vectorKey } from '../rollout/replay-buffer.js';
import { createTuner, tuningDue } from '../search/tuning.js';
import { knownTo } from './evaluate.js';
import type { Experiment } from './parts.js';
import type { Proposals } from './propose.js';

/** Number of recorded observations on which programs are compared, at most. */
const mostObservations = 1000;

/** Compares programs by the actions that they choose on the observations of the warm-up's recorded episodes. */
export class BehaviourTest {
  readonly #setting: EvaluationSetting;
  readonly #episodes: (readonly Observation[])[] = [];
  #observations = 0;
  readonly #actions = new Map<string, Promise<string | undefined>>();

  /** @param recorded episodes of a resumed run */
  constructor(setting: EvaluationSetting, recorded: Iterable<EpisodeRecord>) {
    this.#setting = setting;
    for (const episode of recorded) {
      if (episode.iteration > 0) break;
      this.observe([episode]);
    }
  }

  /** Adds episodes; only those of the warm-up count, so that the test stays the same. */
  observe(episodes: readonly EpisodeRecord[]): void {
    for (const { iteration, observations } of episodes) {
      const left = mostObservations - this.#observations;
      if (iteration > 0 || left <= 0) continue;
      this.#episodes.push(observations.slice(0, Math.min(left, observations.length - 1)));
      this.#observations += observations.length - 1;
    }
  }

  /** The program's actions on the observations; undefined if there are none. @throws ProgramFault */
  actions(parameters: ParameterVector): Promise<string | undefined> {
    const key = vectorKey(parameters);
    const actions = this.#actions.get(key) ?? this.#chosen(parameters);
    this.#actions.set(key, actions);
    return actions;
  }

  async #chosen(parameters: ParameterVector): Promise<string | undefined> {
    if (this.#observations === 0) return undefined;
    return JSON.stringify(await actionsOn(this.#setting, parameters, this.#episodes));
  }
}

/** How programs are tried out before they are accepted; undefined for other policies. */
export function triedIn(experiment: Experiment, iteration: number): Proposals['tried'] {
  const { behaviour, config, seed, setting } = experiment;
  if (behaviour === undefined || config.policy?.kind !== 'program') return undefined;
  const { tune } = config.policy;
  const fresh = config.evaluation.seeds === 'fresh' ? iteration : undefined;
  const seeds = evaluationSeeds(seed, config.evaluation.episodes, fresh);
  // Episodes of remote environments are slow.
  const played = isRemote(setting.environment) ? seeds.slice(0, 1) : seeds;
  return async (parameters, accepted, { member }): Promise<ParseFailure | undefined> => {
    const isTuned = tune !== undefined && member === tune.by;
    const known = knownTo(experiment, iteration);
    const earlier = [...known, ...accepted.map((own) => ({ parameters: own, iteration, score: undefined }))];
    const repeats = (
      { iteration: at, score }: (typeof earlier)[number],
      same: 'actions' | 'structure',
    ): ParseFailure => ({
      kind: 'repeated',
      ...{ iteration: at, ...(score !== undefined && { score }), same },
    });
    // The search finds the constants of a structure, once it has begun to tune it.
    const [structure] = parameters;
    const variant = isTuned
      ? undefined
      : known.find((one) => one.tuned === true && one.parameters[0] === structure);
    if (variant) return repeats(variant, 'structure');
    try {
      const actions = await behaviour.actions(parameters);
      for (const one of isTuned || actions === undefined ? [] : earlier)
        if ((await behaviour.actions(one.parameters)) === actions) return repeats(one, 'actions');
      await evaluate({ ...setting, record: 'none' }, parameters, played);
    } catch (error) {
      if (isProgramFault(error)) return { kind: 'program', ...error.failure };
      throw error;
    }
    return undefined;
  };
}

/**
 * Proposes constants for a candidate, if it is the turn of tuning; undefined if the model proposes.
 * @param before number of candidates in flight before this one
 */
export function tuningFor(experiment: Experiment, iteration: number, before: number) {
  const { config, setting } = experiment;
  const programs = programsOf(setting.family);
  const tune = config.policy?.kind === 'program' ? config.policy.tune : undefined;
  if (programs === undefined || tune === undefined) return undefined;
  const proposed = knownTo(experiment, iteration).filter(({ source }) => source === 'proposal');
  const structure = tuningDue(proposed, tune, before);
  if (structure === undefined) return undefined;
  const own = proposed.filter(({ parameters }) => parameters[0] === structure);
  const { constants } = programs.program(own[0]!.parameters);
  const tuner = createTuner(tune.by);
  return {
    by: tune.by,
    propose: async ([random]: readonly RandomGenerator[]): Promise<readonly ParameterVector[]> => [
      [structure, ...(await tuner.propose(constants, own, random!))],
    ],
  };
}
