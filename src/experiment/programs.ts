/** What runs do only if policies are programs: try out proposals, find repeats by behaviour, tune constants. */
import type { Observation } from '../environments/environment.js';
import { isRemote } from '../environments/remote/remote-environment.js';
import type { ParameterVector } from '../policies/policy.js';
import { programsOf } from '../policies/programs/library.js';
import { isProgramFault } from '../policies/programs/program.js';
import type { TuneConfig } from '../policies/settings.js';
import type { ParseFailure } from '../prompting/answer/parse.js';
import type { RandomGenerator } from '../random/generator.js';
import { evaluationSeeds } from '../random/seeds.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import { actionsOn, type EvaluationSetting, evaluate } from '../rollout/evaluation.js';
import { type BufferEntry, vectorKey } from '../rollout/replay-buffer.js';
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
    // The search finds the constants of a structure.
    const [structure] = parameters;
    const variant = tune && !isTuned && earlier.find((one) => one.parameters[0] === structure);
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

/** The model that tunes constants, if it is its turn in this iteration; undefined if programs are proposed. */
export function tunerOf(experiment: Experiment, iteration: number) {
  const { config, setting } = experiment;
  const programs = programsOf(setting.family);
  const tune = config.policy?.kind === 'program' ? config.policy.tune : undefined;
  if (programs === undefined || tune === undefined) return undefined;
  const known = knownTo(experiment, iteration);
  const structure = tuningDue(
    known.map(asTuned),
    tune,
    ({ parameters }) => programs.program(parameters).constants.length,
  );
  if (structure === undefined) return undefined;
  return { by: tune.by, propose: tunerFor(known, structure, tune, experiment) };
}

const asTuned = ({ parameters, score, source, tuned }: BufferEntry) => ({
  ...{ parameters, score, tuned: tuned === true },
  isProposal: source === 'proposal',
});

function tunerFor(
  known: readonly BufferEntry[],
  structure: number,
  { by }: TuneConfig,
  { setting }: Experiment,
): (randoms: readonly RandomGenerator[]) => Promise<readonly ParameterVector[]> {
  const programs = programsOf(setting.family)!;
  const own = known.filter(({ parameters }) => parameters[0] === structure);
  const { constants } = programs.program(own[0]!.parameters);
  const history = own.map(({ parameters, score }) => ({ values: parameters.slice(1), score }));
  const tuner = createTuner(by);
  return ([random]) => tuner.propose(constants, history, random!).then((values) => [[structure, ...values]]);
}
