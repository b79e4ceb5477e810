/** Where agents play: games that advance in parallel, in this process or in another program. */
import type { Environment, EnvironmentSpec } from '../environments/environment.js';
import type { EpisodeBatch, RemoteEnvironment } from '../environments/remote/remote-environment.js';

export interface Arena extends EnvironmentSpec {
  readonly batch: EpisodeBatch;
  close(): void | Promise<void>;
}

/** @param environments of the same kind, one for each concurrent game */
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

/** Uses the first batch of a remote environment. */
export function remoteArena(environment: RemoteEnvironment): Arena {
  const { id, observationSpace, actionSpace, maxSteps, batches } = environment;
  return {
    ...{ id, observationSpace, actionSpace, ...(maxSteps !== undefined && { maxSteps }) },
    batch: batches[0]!,
    close: () => environment.close(),
  };
}
