/** Where agents play: games that advance side by side, in this program or in another one. */
import type { Environment, EnvironmentSpec } from '../environments/environment.js';
import type { EpisodeBatch, RemoteEnvironment } from '../environments/remote/remote-environment.js';

export interface Arena extends EnvironmentSpec {
  readonly batch: EpisodeBatch;
  close(): void | Promise<void>;
}

/** @param environments of one kind, one for each game that is played at the same time */
export function localArena(environments: readonly Environment[]): Arena {
  const [first] = environments;
  const { id, observationSpace, actionSpace, maxSteps, info, gold, objective } = first!;
  return {
    ...{ id, observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) },
    batch: {
      slots: environments.length,
      reset: async (seeds) => seeds.map((seed, slot) => environments[slot]!.reset(seed)),
      step: async (moves) => moves.map(({ slot, action }) => environments[slot]!.step(action)),
      ...(info && { info: (slot) => environments[slot]!.info!() }),
      ...(objective && { objective: (slot) => environments[slot]!.objective!() }),
      ...(gold && { gold: async (slot) => environments[slot]!.gold!() ?? [] }),
    },
    close() {
      for (const environment of environments) environment.close?.();
    },
  };
}

/** The first batch of an environment that another program plays. */
export function remoteArena(environment: RemoteEnvironment): Arena {
  const { id, observationSpace, actionSpace, maxSteps, batches } = environment;
  return {
    ...{ id, observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) },
    batch: batches[0]!,
    close: () => environment.close(),
  };
}
